"""Short forms that no rule can derive: nicknames of given names, and other names of places.

Compact on purpose. Left out are forms that begin the full name (see
:mod:`memoranda.entities.names`: Dan, Tim, Steph), and those that are as often a name of their
own (Jack, Sally, Nancy): two people must not become one.
"""

from __future__ import annotations

_NICKNAMES = """
    abigail: abby abbie gail abraham: abe bram adelaide: addie addy agnes: aggie albert: al bert
    bertie albie alexander: al alec lex sandy xander alexandra: lexi lexie sandy alexis: lexi lexie
    alfred: al fred freddie alison: allie ally allison: ali allie ally amanda: mandy amelia: millie
    anastasia: tasia nastya andrea: andie andi andrew: andy drew angela: angie ann: annie anna:
    annie anne: annie anthony: tony antonio: tony toni antonia: toni archibald: archie arthur: artie
    augustus: gus augie barbara: barbie babs bobbie beatrice: trixie bee benjamin: benji benny
    bernadette: bernie bernard: bernie bridget: biddy bridie carolyn: lyn catherine: cathy kate
    katie kitty cate cassandra: cassie sandy cecilia: cece charles: charlie chuck chas charlotte:
    lottie charlie lotte christina: tina chrissy christine: chrissy tina christopher: topher
    cynthia: cindy daniel: danny danielle: danny david: dave davey davy deborah: debbie debby
    delores: dolly dennis: denny dominic: nick donald: donnie dorothy: dot dottie dolly dodie
    douglas: dougie edith: edie edmund: ed eddie ned ted edward: ed eddie ned ted teddy edwin: ed
    eddie eleanor: ellie nellie elizabeth: beth betsy betty bess elsie libby liz liza lizzie ellen:
    nellie ellie emily: em emma: em emmanuel: manny eugene: gene evelyn: evie ezekiel: zeke
    florence: flossie florrie frances: fanny frankie francesca: frankie francis: frank frankie
    francisco: paco pancho frank frederick: freddie freddy gabriel: gabe gabriella: gabby gabrielle:
    gabby geoffrey: jeff georgina: georgie gina gerald: gerry jerry gerard: gerry gertrude: gertie
    trudy gilbert: bert giovanni: gianni giuseppe: beppe peppe guadalupe: lupe harold: hal harriet:
    hattie helen: nellie henrietta: etta hettie henry: hank hal herbert: bert howard: howie hubert:
    bert isaac: ike zac isabel: izzy isabella: izzy isabelle: izzy ignacio: nacho jacob: jake
    jacqueline: jackie james: jim jimmy jamie jem jane: janie jenny jennifer: jenny jeremiah: jerry
    jeremy: jerry jez jerome: jerry jessica: jessie jesus: chuy joan: joanie joanna: jo joey joanne:
    jo john: johnny jock jonathan: jonny johnny jose: pepe joseph: joey jo josephine: jo josie juan:
    juanito judith: judy katherine: kate kathy katie kitty kathleen: kathy kate katie kathryn: kate
    kathy katie katrina: trina kenneth: kenny kimberly: kimmy kristina: tina kristen: kristy laura:
    laurie lauren: laurie lawrence: larry leonard: len lenny louis: louie lucinda: cindy luis: lucho
    madeline: maddie maddy madeleine: maddie maddy madison: maddie maddy manuel: manny manolo
    margaret: maggie marge margie meg peggy peg madge marjorie: marge margie martha: marty martin:
    marty mathilda: tilly mattie matilda: tilly matthew: matty melissa: missy lissa michael: mike
    mikey mick micky mickey michelle: shelly chelle micki mildred: millie miranda: mandy mohammed:
    mo mohamed: mo muhammad: mo mikhail: misha natalie: tally nathan: nate nathaniel: nate nicholas:
    nick nicky nico nicole: nicky nikki nikolai: kolya oliver: ollie olivia: liv livvy ollie
    patricia: patty trish tricia patsy patrick: paddy rick paul: paulie penelope: penny peter: pete
    philip: pip phillip: pip phyllis: phil priscilla: cilla prissy rachel: shelly rebecca: becca
    becky reginald: reggie ricardo: rick ricky richard: dick richie rick ricky robert: bob bobby
    bert robbie robby roberta: bobbie robbie roberto: beto roland: rollie ronald: ronnie rosemary:
    rosie romy rose: rosie ruth: ruthie samantha: sammy samuel: sammy sandra: sandy sergei: seryozha
    sharon: shari simon: si stephanie: steffi stephen: steve stevie steven: steve stevie susan: sue
    susie suzie sukie susanna: sue susie suzanne: sue suzie sylvester: sly tabitha: tabby teresa:
    terry tess tessa terence: terry theodora: dora theodore: ted teddy theresa: terry tess tessa
    thomas: tom tommy timothy: timmy tobias: toby vanessa: nessa veronica: ronnie roni victoria:
    vicky tori vicki vincent: vinny virginia: ginny vladimir: vova walter: wally wilfred: fred
    wilhelmina: billie william: bill billy willie willy winifred: fred freddie yevgeny: zhenya
    zachary: zack
"""
"""Each given name, with a colon, and what people of that name are called."""

_PLACES = """
    united states, us, usa, u.s., u.s.a., united states of america, america
    united kingdom, uk, u.k., great britain, britain
    united arab emirates, uae, u.a.e.
    new york city, nyc, n.y.c.
    los angeles, la, l.a.
    san francisco, sf, s.f., frisco
    washington dc, dc, d.c., washington d.c.
    las vegas, vegas
    philadelphia, philly
    saint petersburg, st petersburg, st. petersburg
"""
"""On each line the names of one place, folded."""


def _given_names() -> dict[str, frozenset[str]]:
    known: dict[str, set[str]] = {}
    given = ""
    for word in _NICKNAMES.split():
        if word.endswith(":"):
            given = word[:-1]
        else:
            known.setdefault(word, set()).add(given)
    return {nickname: frozenset(names) for nickname, names in known.items()}


def _places() -> dict[str, str]:
    lines = ([name.strip() for name in line.split(",")] for line in _PLACES.strip().splitlines())
    return {name: names[0] for names in lines for name in names}


GIVEN_NAMES_OF = _given_names()
"""By folded nickname, the given names that it may stand for."""

PLACE_OF = _places()
"""By folded name of a place, the name under which it is compared."""
