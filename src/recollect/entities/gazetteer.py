"""Well-known given names and places: what a rule cannot tell from the form of a word.

Small on purpose. A name that is missing is still found, only as ``other``.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    """Split into names; an underscore stands for the space inside one."""
    return frozenset(name.replace("_", " ") for name in text.split())


GIVEN_NAMES = _names("""
    aaron abby abigail adam adele ahmed alan albert alejandro alex alexander alexandra alexis
    alice alicia alina alison allison amanda amber amelia amir amy ana anastasia andre andrea
    andreas andrew andy angela anita ann anna anne annie anthony antonio ariana arthur ashley
    audrey ava barbara beatrice ben benjamin bernard beth betty bianca bill billy bob bobby brad
    bradley brandon brenda brian brianna bruce bruno bryan caleb calvin cameron camila carl
    carla carlos carmen carol caroline carolyn catherine cathy cecilia chad charles charlie
    charlotte chen chloe chris christina christine christopher cindy claire clara claudia colin
    connor corey craig cristina crystal cynthia dan daniel daniela danielle danny dave david
    deborah debra dennis derek diana diane diego dmitri dominic donald donna doris dorothy doug
    douglas dylan ed eddie edgar edith eduardo edward elaine eleanor elena eli elijah elizabeth
    ella ellen emil emily emma eric erica erik erin ernest esther ethan eva evan evelyn fatima
    felix fernando fiona frances francesca francisco frank fred frederick gabriel gabriela gary
    george gerald gina giovanni gloria grace greg gregory hanna hannah hans harold harry hassan
    heather helen helena henry howard hugo ian ibrahim igor ingrid irene iris isaac isabel
    isabella ivan jack jackie jacob jake james jamie jan jane janet janice jared jason javier
    jay jean jeff jeffrey jen jennifer jenny jeremy jerry jesse jessica jill jim jimmy joan
    joanna joe joel john johnny jon jonathan jordan jorge jose joseph josh joshua juan judith
    judy julia julian julie justin karen karl kate katherine kathleen kathy katie katrina keith
    kelly ken kenneth kevin kim kimberly klaus kristen kyle lara larry laura lauren laurie leah
    lena leo leon leonard leslie liam lily linda lisa liz logan lois louis louise lucas lucia
    lucy luis luke lydia madison maggie manuel marcus margaret maria marie marina mario marion
    marta martha martin mary mason matt matthew maureen max maya megan mei mel melanie melissa
    mia michael michelle miguel mike miranda mohamed mohammed molly monica nancy naomi natalia
    natalie natasha nathan neil nicholas nick nicole nina noah nora olga oliver olivia omar
    oscar pablo pamela pat patricia patrick paul paula pedro peter phil philip phillip priya
    rachel rafael raj ralph ramon randy raymond rebecca renee ricardo richard rick rita rob
    robert roberto robin rodrigo roger ron ronald rosa rose ruby russell ruth ryan sally sam
    samantha samuel sandra sara sarah scott sean sergei seth shane shannon sharon shawn sheila
    shirley simon sofia sonia sophia sophie stacy stanley stefan stella stephanie stephen steve
    steven stuart susan suzanne sylvia tanya tara ted teresa terry theo theresa thomas tiffany
    tim timothy tina todd tom tommy tony tracy travis tyler valerie vanessa vera veronica victor
    victoria vincent viola virginia vivian vladimir walter wanda wendy wesley william yasmin
    yuki yusuf zach zachary zoe андрей анна ольга иван мария дмитрий елена наталья сергей марина
    γιώργος μαρία νίκος ελένη γιάννης
""")

PLACES = _names("""
    afghanistan africa albania algeria america antarctica argentina armenia asia australia
    austria azerbaijan bangladesh belarus belgium bolivia bosnia botswana brazil bulgaria
    cambodia cameroon canada chile china colombia congo costa_rica croatia cuba cyprus czechia
    denmark ecuador egypt england estonia ethiopia europe finland france georgia germany ghana
    greece guatemala haiti honduras hungary iceland india indonesia iran iraq ireland israel
    italy jamaica japan kazakhstan kenya korea kuwait latvia lebanon libya lithuania luxembourg
    malaysia mali malta mexico moldova mongolia morocco myanmar nepal netherlands new_zealand
    nicaragua nigeria norway pakistan palestine panama paraguay peru philippines poland portugal
    qatar romania russia rwanda saudi_arabia scotland senegal serbia singapore slovakia slovenia
    somalia south_africa south_korea spain sri_lanka sudan sweden switzerland syria taiwan
    tanzania thailand tunisia turkey uganda ukraine united_kingdom united_states uruguay
    uzbekistan venezuela vietnam wales yemen zimbabwe alabama alaska arizona arkansas california
    colorado connecticut delaware florida hawaii idaho illinois indiana iowa kansas kentucky
    louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana
    nebraska nevada new_hampshire new_jersey new_mexico new_york north_carolina north_dakota
    ohio oklahoma oregon pennsylvania rhode_island south_carolina south_dakota tennessee texas
    utah vermont washington wisconsin wyoming bavaria catalonia ontario quebec siberia tuscany
    sicily brittany normandy provence andalusia amsterdam ankara athens atlanta auckland austin
    baghdad baltimore bangkok barcelona beijing beirut belfast belgrade berlin bogota boston
    brooklyn brussels bucharest budapest buenos_aires cairo calgary cambridge cape_town caracas
    chicago cologne copenhagen dallas damascus delhi denver detroit dubai dublin edinburgh
    florence frankfurt geneva glasgow hamburg hanoi havana helsinki hollywood hong_kong honolulu
    houston istanbul jakarta jerusalem johannesburg karachi kiev kyiv kyoto lagos las_vegas
    leeds lima lisbon liverpool london los_angeles lyon madrid manchester manhattan manila
    marseille melbourne mexico_city miami milan minneapolis montreal moscow mumbai munich
    nairobi naples nashville new_delhi new_orleans new_york_city oakland orlando osaka oslo
    ottawa oxford paris philadelphia phoenix pittsburgh porto portland prague rio_de_janeiro
    riyadh rome rotterdam sacramento san_diego san_francisco san_jose santiago sao_paulo seattle
    seoul shanghai shenzhen stockholm stuttgart sydney taipei tampa tehran tel_aviv tokyo
    toronto turin valencia vancouver venice vienna warsaw wellington zurich münchen wien köln
    zürich москва санкт-петербург россия киев αθήνα ελλάδα nyc la uk usa us uae eu sf
""")
