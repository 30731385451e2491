"""What tests of several rooms share."""

import pytest

pytest.register_assert_rewrite("recollect.testing.contracts")
