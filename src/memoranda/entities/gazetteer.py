"""Well-known names: what a rule cannot tell from the form of a word.

Small on purpose. A name that is missing is still found, only as ``other``.
"""

from __future__ import annotations


def _names(text: str) -> frozenset[str]:
    """Split into names; an underscore stands for the space inside one."""
    return frozenset(name.replace("_", " ") for name in text.split())


GIVEN_NAMES = _names("""
    aaron abby abigail adam adele ahmed aisha akira alan alba albert alec alejandra alejandro alex
    alexander alexandra alexis alfredo alice alicia alina alison allison alma amal amanda amber
    amelia amina amir amit amy ana anastasia anders andre andrea andreas andrew andy angela angelica
    angelo anika anil anita anja ann anna anne annie annika ansel anthony antoine anton antonia
    antonio anya ariana ariel arjun armando arnold arthur arturo asher ashley astrid audrey aurora
    ava avery axel ayesha aziz barbara bart beatrice beau becky ben benedict benjamin benny bernard
    bernie beth bethany betty bianca bill billy bjorn blake bob bobby bonnie boris brad bradley
    brandi brandon brenda brendan brent brian brianna bridget britney brittany brock brooke bruce
    bruno bryan bryce byron caitlin caleb calvin cameron camila camille candice carl carla carlo
    carlos carlton carly carmela carmen carol caroline carolyn carrie casey cassandra catherine
    cathy cecilia cedric celeste celia cesar chad chandra charlene charles charlie charlotte chen
    cheryl chester chloe chris christina christine christopher chuck cindy claire clara clarence
    clark claudia clayton clement cody colin colleen connor conrad constance corey cory courtney
    craig cristina crystal curtis cynthia cyrus daisy dakota damian damon dan daniel daniela
    danielle danny daphne darius darlene darrell darren darryl dave david dawn dean debbie deborah
    debra deepak delia demi denise dennis derek derrick desmond devin dexter diana diane diego
    dillon dmitri dolores dominic dominique donald donna dora doreen doris dorothy doug douglas drew
    duane dustin dwayne dwight dylan ed eddie edgar edith eduardo edward eileen ekaterina elaine
    eleanor elena eli elias elijah elisa elise eliza elizabeth ella ellen ellie elliot elliott elsa
    elton elvis emanuel emerson emil emilia emilio emily emma emmett enrique eric erica erik erika
    erin ernest ernesto ernie esmeralda esteban estelle esther ethan eugene eunice eva evan evelyn
    ezra fabio farah fatima fatma federico felicia felicity felix fernando fidel finn fiona florian
    floyd frances francesca francine francisco francois frank frankie fred frederick fredrik freya
    fritz gabriel gabriela gail gareth garrett garth gary gavin gene genevieve geoffrey george
    georgina gerald gerard gertrude gilbert gina giorgio giovanni giulia giuseppe glen glenn gloria
    gordon grace graham greg gregory greta guadalupe guillermo gunther gustavo gwen hal hamza hank
    hanna hannah hans harold harriet harrison harry harvey hasan hassan hayden hazel heather hector
    heidi helen helena henry hilary hiroshi holly homer howard hubert hugh hugo hussein ian ibrahim
    igor imani imran ingrid irene irina iris irma irving isaac isabel isabella isaiah isla ismail
    ivan ivy izzy jack jackie jackson jacob jada jaden jake jamal james jamie jan jana jane janelle
    janet janice janine jared jasmine jason jasper javier jay jean jeanette jeanne jeff jeffrey jen
    jenna jennie jennifer jenny jeremy jerome jerry jesse jessica jill jim jimmy joan joanna jocelyn
    jodi jody joe joel joey johan johann johannes john johnny jolene jon jonas jonathan jordan jorge
    jose josef josefina joseph josephine josh joshua josie joyce juan juana judah judd judith judy
    julia julian juliana julie juliet juliette jurgen justin kaitlyn kamal kara kareem karen kari
    karin karina karl karla kate katelyn katherine kathleen kathryn kathy katie katrina katya kay
    kayla keisha keith kelley kelly kelsey kelvin ken kendall kendra kendrick kenneth kerry kevin
    khalid kim kimberly kirk kirsten klara klaus kofi kris krista kristen kristin kristina kristine
    kurt kwame kyle kylie lana lance lara larry lars latasha latoya laura laurel lauren laurence
    laurie lea leah leila lena leo leon leonard leonardo leopold leroy leslie lester leticia levi
    lewis liam liana lila liliana lillian lily lina linda lindsay lindsey lionel lisa liz lloyd
    logan lois lola lorena lorenzo loretta lorraine lottie lou louis louise luca lucas lucia luciana
    lucille lucy luigi luis luisa luka luke lupe luther lydia lyle lynn mabel mackenzie madeleine
    madeline madison mads magdalena maggie mahmoud malcolm malik mandy manny manolo manuel marc
    marcela marcelo marcia marco marcus margaret margot maria mariana marianne maribel marie marilyn
    marina mario marion marisa marissa marjorie markus marlene marlon marsha marta martha martin
    marvin mary mason mateo mathew matilda matt matteo matthew maureen maurice mauricio max maya
    megan mehdi mehmet mei mel melanie melinda melissa meredith mia micah michael michele michelle
    mickey miguel mikael mike mikhail mila mildred miles miley milo mindy minnie miranda miriam
    mitch mitchell mo mohamed mohammad mohammed moira molly mona monica morgan muhammad murray
    mustafa myra nadia nadine najib nancy naomi natalia natalie natasha nate nathan nathaniel neil
    nelson nicholas nick nicole nigel nikhil nikita nikki niko nikolai nina nisha noah noemi nolan
    nora norma norman octavia odette oksana olaf olga oliver olivia omar ophelia oprah osama oscar
    otis otto owen pablo paige paloma pamela paolo pat patricia patrick patsy patty paul paula pedro
    peggy penelope perry peter petra phil philip phillip pia pierre piper preston priscilla priya
    quentin quincy quinn rachael rachel rafael rahul raj ralph ramon randy raquel rashid raul ravi
    raymond rebecca reese reggie regina reid rene renee reuben rex rhonda rhys ricardo richard
    richie rick ricky riley rina rita rob robbie robert roberta roberto robin rocco rodney rodrigo
    roger roland rolf ron ronald rory rosa rosalie rosalind rosanna rosario roscoe rose rosemary
    rosie ross rowan roxanne roy ruben ruby rudolf rudy rufus rupert russ russell ruth ryan sabrina
    sacha sadie saeed sally salma salvador salvatore sam samantha samir sammy samuel sandeep sandra
    sandy sanjay santiago sara sarah sasha saul scott sean sebastian selena selma serena sergei
    sergey sergio seth seymour shane shannon sharon shaun shauna shawn shawna sheila shelby sheldon
    shelley shelly sherri sherry shirley sid sidney sienna silas silvia simon simone sofia sonia
    sonya sophia sophie spencer stacey stacy stan stanley stefan stella stephan stephanie stephen
    steve steven stewart stuart sunil susan suzanna suzanne sven svetlana sylvia tabitha tamara
    tammy tania tanya tara tariq tasha tatiana taylor ted teresa terry tessa thea thelma theo
    theodora theodore theresa thomas tiffany tim timothy tina tobias toby todd tom tomas tommy toni
    tony tracey tracy travis trevor tricia trish tristan troy tucker tyler ulrich ursula valentina
    valeria valerie vance vanessa vaughn vera vernon veronica vicki vicky victor victoria vijay
    vikram vince vincent viola virginia vivek vivian vivienne vladimir wade wallace wally walt
    walter wanda warren wayne wendell wendy wesley whitney wilbur wilfred willa willard william
    willie wilma winston wolfgang xavier yasmin yolanda yosef yousef yuki yusuf yvette yvonne zach
    zachariah zachary zane zara zelda zoe zoey zuzana
    андрей анна ольга иван мария дмитрий елена наталья сергей марина
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

ORGANIZATIONS = _names("""
    adidas adobe airbnb airbus amazon anthropic asana audi barclays bayer bbc bmw boeing bosch cbs
    chanel cia cisco citibank cnn coca-cola comcast costco craigslist dhl disney dropbox duolingo
    ebay espn etsy facebook fbi fedex ferrari fifa github gitlab google greenpeace gucci harvard hbo
    heineken honda hsbc huawei hyundai ibm ikea imdb instagram intel interpol jpmorgan kfc
    lamborghini lapd lego linkedin loreal lufthansa lyft marvel mastercard mcdonald's mcdonalds
    microsoft mlb moderna motorola mtv myspace nasa nasdaq nato nba nbc nestle netflix nfl nhl nike
    nintendo nissan nokia nvidia nypd nyse nyu openai oracle paypal pepsi pfizer pinterest pixar
    porsche prada princeton reddit ryanair salesforce samsung sega shopify siemens skype snapchat
    sony spotify stanford starbucks tesco tesla tiktok toyota trello tumblr twitter uber ucla uefa
    ufc unesco unicef unilever verizon vodafone volkswagen walmart whatsapp wikipedia xiaomi yahoo
    yale youtube zara
""")

PRODUCTS = _names("""
    iphone ipad ipod macbook imac android gmail chrome firefox linux ubuntu xbox playstation kindle
    photoshop powerpoint python javascript typescript docker kubernetes postgresql mysql sqlite
    django flask fastapi pytorch tensorflow itunes icloud chatgpt minecraft fortnite wordpress
""")

NO_LOWER_CASE = _names("""
    abby al alba ali alma amazon amber ana angel april ariel art asher august ava axel bart bella
    ben bert bill billy blake bob bonnie brad brittany brock brooke brussels cambridge carmen carol
    celeste chad chile china chip chrome chuck clara clark clay cody colin cologne cooper cory craig
    daisy dale dan dawn dean demi dexter dick dolores don dora drew earl ed eli ella eu eve excel
    faith finn flask flora florence frank gail gene georgia ginger gloria grace grant guy hal hank
    hans harrison harry hassan hazel heather holly homer hope hunter ian intel iris ivan ivy jack
    jackson jade jan jay jean jerry jersey jill joe joey jordan josh joy june kay ken kerry kim kirk
    kris la lance laurel lea lena leo lily lima lou mali mark marvel mason matt max may mei mel
    melody mercedes mia mila miles milo misty mo morgan nat nelson nick noel norma norman normandy
    nyc olive oracle otis otto owen paige paloma parker pat patsy patty pearl penny perry peter
    phoenix pia pierre piper polly porto quinn raj randy ray reese reid rex rich rick riley rita rob
    robin rod roman ron rosa rosario rose ross rowan roy ruby russ rusty sally sandy sasha scott
    sean seth sf shelby sherry sid stan stella sterling sue summer tad tara taylor terry theo tim
    toby tom tony tracy troy tucker turkey uae uber uk us usa van vance vera victor victoria viola
    violet wade wally warren wayne will windows
""")
"""Names that are words as well: without a capital they are taken for the word."""
