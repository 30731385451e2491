"""Storage back ends: each an island that implements the ports of core and knows no other."""
