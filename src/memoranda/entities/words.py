# ruff: noqa: RUF001  # Russian and Greek words hold letters that look Latin, as they should.
"""Word lists of the rules: small, and only what a rule cannot tell from the form.

``COMMON`` holds words that are no name although they often stand capitalised: at the start
of a sentence, in a title, shouted. Inflections need no entry (see
:mod:`memoranda.entities.everyday`).
"""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """Return the words of ``text``: a long list is read more easily without quotes."""
    return frozenset(text.split())


COMMON = words("""
    a ability able about above above-mentioned absolutely accept according account accuracy achieve
    across act action action-item active activity actually add additional address adjust adopt adore
    adult advance advice after afternoon again against age agenda agent ago agree ah aha ahh aim
    ain't air alas album alert all alliance allocate allow almost alone along already alright also
    although always am amaze amen american amid amidst among amount an analogy analysis analyze
    ancient and anger angle animal anime anniversary announce another answer any anybody anymore
    anyone anything anytime anyway anyways anywhere apart app apparently appear apply appreciate are
    area aren't argh arrange arrive art article as asap aside ask asleep assistant assume at ate
    attach attack attempt attend attendee attendees attention audience author available average
    avoid aw awake award aware away awe aweh awesome awful awh aww awww ay aye baby back backend
    background bad badly bag bake ball balloon band bank bar base basic basically battle be beach
    bear beast beat beautiful beauty became because become bed been before began begin behind being
    believe below besides best bet better between beyond big bird birthday bit bite black bless
    block blood bloom blow blue board boat body boil bone bonus boo book boring born borrow bot both
    bottom bought bounce bow box boy boys brain branch brave bravo break breakfast breath
    breath-taking breathe bring bro bros brother brought brown browser bruh btw bubble bud buddy
    budget bug build bullet bunch burn bus business busy but buy by bye c'mon cache cake calculate
    call calm came camp can can't cancel cancer cannot cant capture car card care careful carpet
    carry case cash cat catch cause celebrate center ceremony certain certainly challenge chance
    change chapter characteristic charity chart chase chat cheap cheat check cheer cheers cheese
    chef cherish chess child children chill choose chop christian church circle cite city clarify
    class classic classified clay clean clear clearly click climb close closer clothes club coach
    code coffee coin cold collect collector college color colour column combine come comedy comfort
    comic coming comment commit common communicate community company compare compile complement
    complete compose compute computer concept concern concert conclude conclusion condense condition
    conduct configure confirm congrats congratulations congratz connect connection consider
    construct consult contact contain contemporary content continue contrast control convert cook
    cookie cool cop copy core correct cost cough could couldn't count country couple course court
    cousin cover coward cowboy cozy crap crazy create creative cries crime cross crowd cry culture
    cup cure curious current currently custom customize cut cute cuz dad daddy daily damn dance dang
    dare dark darn dat data database date daughter day days daytime dead deadline deal dear death
    debug decide deck declare deep def defect define definitely definition degree delete deliver
    deliverable demo demonstrate depend dependency deploy derive describe description deserve design
    desktop despite dessert detail details detect determine develop device dew diagram dice did
    didn't die different differentiate difficult dig digit dinner direct dirty disagree discard
    discover discuss display distance distribute divide do doctor doing document does doesn't dog
    dogs doing dollar domain domestic don't done dont door double doubt down download draft drag
    draw dream dreams dress drink drive drizzle drop drunk dude due duh dump dunno during duty dying
    each eagle ear early earth easily east eastern easy eat economy edge edit editor education
    efficiency efficient effort eh either element elements eliminate else email emotion emphasize
    employ empower empty enable encourage encrypt end energy engage engine english enhance enjoy
    enough ensure enter entire enumerate episode equal err error escape especially essentially
    establish estimate etc evaluate even evening event events ever every everybody everyday everyone
    everything everywhere exact exactly examine example excellent except excite exclude excuse
    execute exercise exist expand expect experience explain explore export express extend extra
    extremely eye eyes face fact factor factorize fail failure fair fairly fairy faith fake fall
    false fame familiarize family famous fan fantastic far farm fashion fast fat fate father
    favorite favourite fear feature feed feedback feel feels fell felt female fest festival fetch
    few field fifty fight figure file fill film filter final finalize finally find fine finger
    finish fire first firstly fish fit five fix flash flat flight flip floor flower flowers fly
    focus follow following food fool foot football for force foreign forever forget forgive forgot
    form format former formula formulate fortunately forty forward found four free freedom fresh
    friend friends from front frontend fruit frustrate fuck fucking full fully fun function
    fundraise funniest funny further furthermore future fyi gah gain gal galaxy game games garden
    garnish gather gave general generally generate generation gentle gently get gets getting ghost
    gift gimme girl girls give gives glad go goal god goes goin going gold golf gone gonna good
    goodbye goodluck goodness goodnight gosh got gotcha gotta government grab grade graduate grand
    grateful gratitude great green greetings ground group grow guess guide guitar guy guys gym habit
    had hadn't hah haha hahaha hair half hall hand handle hands hang happen happily happy hard
    hardly has hash hasn't hate have haven't having hawk he he'll he's head health healthy hear
    heard heart heartbeat hearts heaven heavy heck height hell hello help helpful hence her here
    here's hero hers herself hey heya hi hide high highlight highly hike him himself hint hire his
    history hit hiya hm hmm hmmm ho hobby hold hole holiday holy home homemade homework honest
    honestly honey honor hooray hope hopefully horse hospital host hot hotel hour hours house how
    how's howdy however hows hug huge hugs huh human humans humidity hundred hungry hunt hurrah
    hurray hurry hurt husband i i'd i'll i'm i've ice idea ideas identify idiot idk if ignore ill
    illustrate im ima ima' image imagine imho imma immediately immense imo impact implement import
    important impossible impress improve improvement in include including incorporate incredible
    incredibly indeed independence independent index indicate indicator individual industry
    infection info inform information initial initiate inline input insert inside insight insights
    inspect inspire install instead instruct integrate intellectual interactive interest interesting
    internet interpret into introduce introduction invalid invest investigate invite ironic is isn't
    isolate issue it it'd it'll it's item iterate its itself ive jacket jam jar jeez job join joke
    journal journey joy juice jump junk just justice justify keep kept key kick kid kids kill kind
    kinda king kiss kitchen knew knight know known kudos label lady lake language large last lastly
    late lately later latest laugh laughter launch law lay layout lead leader league learn least
    leave left legend lemme length less lesson let let's lets letter level leverage lgbt library lie
    life lift light like likely lil limit line link lion list listen literally literature little
    live lives living lmao lmfao lo load local locate location lock log logging login lol long look
    looks lord lose lost lot lots lotsa loud love loved lovely lover loves low luck luckily lucky
    lunch luv ma machine mad made magic mail main mainly maintain major make makes makeup male man
    management many map market married master match mate maternity math matter maybe me meal mean
    means meanwhile measure media median meet meh member memories memory men mental mention mentor
    menu merge merry mess message met method mhm might migration mile milestone military milk
    million mind mindful mine minimize minute miss mistake mix mm mmhmm mmm mo mobile model modern
    modify mom moment mommy mon money monitor month mood moon more moreover morning mornings most
    mostly mother motion motivate mountain mouth move movie movies much multiple multiply mum mummy
    museum music must mute my myself nah naked name narrow national nature navigate navigation naw
    nay near nearly neat need needs negotiate neither nest network never nevertheless new news next
    nice night nights nine no nobody none nonetheless noon nope nor normal normalize normally north
    not note notes nothing notice novel now nowadays nowhere np null number nurse object obstacle
    obtain obvious obviously occasionally odd odyssey of off offer oh ohh ohhh ok okay old omfg omg
    omit on once one ones online only oof ooh ooh-la-la ooo oooh oops open operate opinion
    optimization optimize option optional options or orange order ordinary organize original other
    others otherwise ouch our ours out outcome outline output outside over overall overview own pack
    page paid pain paint pair panel paper parent parents park parse part particularly partner party
    pass past paste path pattern pay peace pen people per perfect perfectly perform perhaps period
    perseverance person personal personally pet pets phew phone photo photography photos physical
    piano pick pics picture pictures piece pink pinpoint pizza place plan plane planet plans plant
    plants play player please plot pls plus plz pm poem poet poetry point police policy poor pop
    populate positive possible possibly post pottery pour power practice practise pray prayer
    precious prefer preheat prep prepare present president press pretty prevent preview previous
    previously price pride prime print prior prioritize privacy private probability probably problem
    proceed process produce product profile program progress project promise promotion proof proper
    properly property propose protect proud proudly prove provide proximity prune ps pub public
    publish pull pure purple push put quality quantify quarter queen query question questions quick
    quickly quiet quit quite quote race radio rain raise random range rank rare rate rather ratio
    raw re reach read reader reading ready real realize really rearrange reason reasons recall
    receive recent recently recheck recipe recommend record red redirect reduce refactor refer
    refine reflect regard regarding regardless register regular regularly reiterate relate
    relationship relax release reload remain remember remenber remind remove rename render rent
    reorder repair repeat rephrase replace replacement reply report represent request require
    requirements research reset resolve resource respect respond response rest restart restaurant
    restore restructure result results retrieve return retweet review revise reward rewrite rich
    ride right ring rip rise river road rock role roll romance room rotate rough round route row rt
    rule run running sad safe said sale salt salute same sample sand save saw say says scale scare
    scene schedule school science score screen script scroll sea search season seat second secret
    section security see seeing seek seem seems seen select self sell send senior sense sent
    separate serious seriously serve service set setback setting settings seven several sex shadow
    shake shall share sharp she she'd she'll she's shift shirt shit shoot shop shopping short shot
    should shouldn't shout shouts show shower shure shut sick side sigh sign silly similar similarly
    simmer simple simplify simply since sing single sir sis sister sit six size skate sketch skill
    skip sky sleep slice slope slow slowly small smart smell smh smile snow so social society soft
    software soldier solve some somebody somehow someone something sometimes somewhere son song
    songs soo soon sooo sorry sort sorta soul sound sounds source south space speak speaking special
    specific specifically specify speech speed spend spill spirit split sport sports spot spread
    spring sprint squad square stage stair stakeholder stand standard star stars start started state
    stats status stay steal steam step steps stick still stir stop store stories storm story
    straight strange strategy street strength strengthen stress strive strong structure student
    students studio study stuff stupid style submit subscribe substitute subtract success such suck
    sucks sudden suddenly sugar suggest sum summarize summary summer sun sunflower super supplement
    support suppose sure surely surf surprise surprisingly sweet sweetie sweets swim switch symbol
    symmetry system table tablet tackle tail tailor take takes taking talk talking tall target task
    taste tbh tea teach teacher team tech technically technology tell temperature temporary ten test
    tests text than thank thankful thankfully thanks that that'd that'll that's thats the theater
    their theirs them theme themselves then there there's therefore these they they'd they'll
    they're they've thing things think third thirty this tho those though thought thoughts thousand
    three through throughout throw thru thumb thus thx ticket til till time timeline times tiny tip
    tips tired title to today todays together toggle told tomorrow ton tonight too took tool top
    total totally touch tough tour tournament town toy track trade tradition trailer train transform
    translate travel treat tree trees triangle trick tried trigger trip trouble troubleshoot truck
    true truly trust truth try tune turn turns tv tweet twenty twice two ty type typography tysm ugh
    uh uh-huh um umm unconditional under understand understood unfortunately uninstall union unique
    unity university unknown unless unlike unlock unplug until up update upon ups ur urgent us usage
    use used useful useless user usual usually utilize vacation valid validate validation valley
    value variable various veggie verify version very via vibe video view village vintage violin
    virtual visit visual visualize voice volunteer vote wait wake walk wall wanna want wants war
    warm warning was wash wasn't watch water way ways we we'd we'll we're we've weak wear weather
    web website wedding week weekend weigh weird welcome well welp went were weren't west what
    what'd what's whatcha whatever whats when when's whenever where where's wherever whether whew
    which while whilst whip whisk white who who's whoa whoever whole whose why wide wife wild will
    win wind wine winner winter wisdom wise wish with within without woah woe wolf wolves woman
    women won won't wonder wonderful woo woohoo word words work worker workflow working works world
    worry worse worst worth would wouldn't wow wowza wrap write writer wrong wtf y'all ya yaay yay
    yayy yea yeah year years yell yellow yep yes yesterday yet yikes yo yoga yoo you you'd you'll
    you're you've young your yours yourself youth yup zero zombie zone zoom
""")

DEMONYMS = words("""
    african american arab arabic argentinian asian australian austrian belgian brazilian british
    buddhist bulgarian canadian caribbean catholic chilean chinese christian colombian croatian
    cuban czech danish dutch egyptian english european filipino finnish french german greek hebrew
    hindu hispanic hungarian icelandic indian indonesian iranian iraqi irish islamic israeli italian
    jamaican japanese jewish kenyan korean latin latino lebanese malaysian mexican moroccan muslim
    nigerian norwegian pakistani palestinian persian peruvian polish portuguese protestant romanian
    roman russian saudi scottish serbian singaporean slovak somali spanish swedish swiss syrian
    taiwanese thai turkish ukrainian venezuelan vietnamese welsh aries taurus gemini scorpio
    sagittarius capricorn aquarius pisces
""")
"""Where someone or something comes from or belongs: with a capital in English, but no name."""

FOREIGN_COMMON = words("""
    aber als also auch auf aus bei bis bitte da danke dann das dass dein deine dem den denn der
    des deshalb die dies diese dieser dieses doch dort du ein eine einem einen einer er es euch
    euer für ganz gestern gut guten habe haben hallo hat heute hier ich ihm ihr ihre im immer in
    ist ja jetzt kann kein keine können leider mal man mein meine mit morgen muss na nach
    nächste nein nicht noch nun nur ob oder ohne schon sehr sein seine seit sie sind so sogar
    tschüss über und uns unser unter viel vielen vielleicht vom von vor wann war waren warum was
    wegen weil wenn wer werden wie wieder wir wird wo woher wohin zu zum zur zwei à alors après
    au aujourd'hui aussi avant avec bien bonjour bonsoir bref c'est car ce cela ces cet cette
    chaque comme comment d'accord dans de depuis donc elle elles en encore enfin est et eux il
    ils j'ai je jamais l'autre la là le les leur leurs lui ma mais me merci mes moi mon ne non
    nos notre nous on ou où oui par parce pas pendant peut peut-être pour pourquoi puis quand
    que quel quelle qu'est-ce qui quoi sa salut sans ses si son sont souvent sur ta tes toi ton
    toujours tous tout toute très tu un une vos votre voici voilà vous ahora al algo algunas
    algunos allí antes aquí así aún aunque ayer bueno buenas buenos cada casi claro como cómo
    con cuál cuando cuándo cuánto del desde después donde dónde el él ella ellas ellos entonces
    entre era eres esa ese eso esta está están este esto estoy fue fui gracias ha había hace
    hasta hay hola hoy igual las lo los luego más mi mientras mis mucho muy nada ni no nosotros
    nuestra nuestro nunca o otra otro para pero por porque pues qué quién se sí siempre sin
    sobre soy su sus también tan te tengo tiene toda todo todos tus una unas unos usted vamos ya
    yo а без бы был была были было быть в вам вас ведь во вот вы где да даже для до его ее её
    если есть ещё же за здесь и из или им их к как какая какой когда конечно которые кто куда ли
    мне мой моя мы на надо нам нас наш не него нет ни но ну о об один он она они от очень по
    потом потому почему при привет просто с сегодня сейчас со спасибо так там твой тебе тебя то
    тогда тоже только ты у уже хорошо что чтобы это этот эта эти я вчера завтра мы-то пожалуйста
    αλλά αν από αυτό αυτός γιατί για δε δεν εγώ εδώ εκεί ένα ένας εσύ έχω η ή θα και κάτι με μα
    μας μετά μη μην μια μου να ναι ο οι όλα όμως όπως όταν ότι όχι που πού πολύ πριν πώς σας σε
    σήμερα σου στη στην στο στον τα τι τη την της το τον του τους των τώρα χθες ως γεια
    ευχαριστώ
""")

GERMAN = words("""
    aber auch auf das dass dem den der die ein eine einen einer für habe hat ich im ist mit
    nicht noch oder sehr sich sie sind und uns von war was wenn wie wir wird zu zum zur
""")
"""Two of these make a text German, where every noun has a capital and proves nothing."""

SHOUTED = words("""
    AM PM OK OKAY TV PC ID AI IT VR AR UI UX PR HR CEO CTO CFO DIY FAQ FYI ASAP BTW IMO IMHO LOL
    OMG WTF LMAO ROFL TBH SMH IDK RT DM PS TLDR TL DR XD XO XOXO YES NO NOT SO VERY THE AND BUT
    ALL NOW TODO FIXME NB RSVP VIP ETA EOD RIP GPS HTTP HTTPS URL API JSON HTML CSS SQL XML CSV
    PDF USD EUR GBP II III IV VI VII VIII IX BBQ DJ CD DVD HD UHD GB MB KB TB KG KM CM MM MPH AC
    DC GPA ER SMS MMS PST EST CST MST PDT EDT CDT GMT UTC CET BST TGIF FML HQ QB KO PIN DUI SUV WIFI
    BFF NSFW NSFL TBT OOTD MLIA JK NVM IRL AFK BRB GTG TTYL HBD WTH STFU LMFAO IKR FTW DIY RIP MVP
    CV PHD MBA BA BSC MSC UFO DNA ATM ASAP CC BCC RE FWD FW LTD INC VS FT FEAT MC MT PPL THX PLS
""")
"""Capitals that are no names: interjections, formats, units."""

ASIDES = words("AM PM RT MT PST EST CST LOL OMG XD FYI BTW PS IMO TBH SMH LMAO")
"""Of these, what stands before a name without belonging to it."""

MONTHS_AND_DAYS = words("""
    january february march april may june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday
    saturday sunday mon tue tues wed thu thur thurs fri sat sun mondays tuesdays wednesdays
    thursdays fridays saturdays sundays montag dienstag mittwoch donnerstag freitag samstag
    sonntag januar februar märz mai juni juli oktober dezember christmas easter halloween
    thanksgiving xmas
""")

TITLES = words("dr mr mrs ms miss mx prof professor sir lord lady herr frau señor señora mme mlle")

NAME_JOINERS = words("of de da dos del della der di du la le van von al bin ibn el y")

ORGANIZATION_ENDS = words("""
    inc incorporated ltd limited llc llp plc gmbh ag corp corporation co company foundation
    university college institute school academy bank hospital clinic church council committee
    association union agency ministry department museum club band orchestra airlines airways
    records studios labs laboratories motors group holdings partners league team times post news
    network party society federation universität klinik verein université
""")
LEGAL_FORMS = words("inc incorporated ltd limited llc llp plc gmbh ag corp corporation co")
ORGANIZATION_STARTS = words("university bank ministry department institute college bureau church")

PLACE_ENDS = words("""
    street st avenue ave boulevard blvd road rd lane drive square plaza park beach lake river
    bay island islands mountain mountains mount valley city town county state airport station
    bridge canyon forest creek falls hills hill harbor harbour heights coast desert peninsula
    ocean sea straße strasse platz village palace castle tower springs
""")
PLACE_STARTS = words("lake mount mt fort san santa los las saint port north south east west rio")

VOCATIVES = words("""
    hey hi hello dear thanks thank bye goodbye congrats congratulations wow yeah yes no sorry
    okay ok hallo hola bonjour salut привет oh yep sure absolutely awesome cool nice good great
""")
SPEECH = words("said says told asked replied answered thinks thought wrote texted called laughed")
PERSON_BEFORE = words("""
    friend brother sister wife husband boss daughter son mom mum dad mother father colleague
    boyfriend girlfriend uncle aunt cousin named met coworker teammate roommate neighbor partner
    neighbour grandma grandpa grandmother grandfather teacher coach therapist mentor president
""")
MOTION = words("""
    go goes going went moved move moving travel traveled travelled trip flew fly flight drive
    drove visit visited visiting came back live lives lived living born based located stay
    stayed staying arrived arrive returned return heading headed vacation holiday am from i'm
    grew work works city
""")
WORK = words("""
    work works worked working job intern internship interned hired employed position promoted role
    interview interviewed manager engineer
""")
PLACE_PREPOSITIONS = words("in to from near around through visit visited visiting across")
OBJECTS = words("""
    the a an your my our their this these those that it them me you us all any some each every
    whether which both sure
""")
"""What follows a verb that begins a sentence."""
