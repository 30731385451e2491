"""What a later session changes of what an earlier one told, though it may say only a name."""

from rule_facts import learned
from tables import each_row


@each_row
def test_what_was_told_last_holds_and_what_it_ends_does_not(said, holds, over):
    """Of sessions, parted by a stroke: a part of a fact that holds, and one that none has.

    # What a later sentence only names ends, whatever it is known of.
    I smoke about ten a day. / I quit smoking three weeks ago! | | The user smokes about ten a day
    My gym is IronWorks. / I've let the IronWorks membership lapse. | | The user trains at IronWorks
    I work at Bistro Lupo. / I quit Bistro Lupo last night. | | The user works at Bistro Lupo
    My favourite game is Stardew Valley. / Stardew Valley is done.
    | | The user's favourite game is Stardew Valley
    Our contact at the print shop is Colin. / Colin has retired.
    | | The user's contact at the print shop is Colin
    My dentist is Dr Halloran. / Dr Halloran has retired.
    | | The user's dentist is called Dr Halloran
    I'm a nurse. / I retired last Friday! | | The user is a nurse
    I'm engaged. / Mia and I broke up. | | The user is engaged
    I hate jazz. / I love jazz now. | | The user hates jazz
    I play the trombone. / My back said no to the trombone. | | The user plays the trombone
    Ich bin Verkäuferin bei Edeka. / Ich hab bei Edeka gekündigt. | | Verkäuferin
    # Another part of a list, what others gave up, and what is only asked end nothing.
    I play squash and the bassoon. / My knees won't allow squash any more.
    | The user plays the bassoon |
    We keep six alpacas and two donkeys. / Sold the alpacas at the spring fair.
    | The user keeps two donkeys |
    My dentist is Dr Roe. / My landlord is Tom Fry. | The user's dentist is called Dr Roe |
    I play the cello. / My brother quit the cello. | The user plays the cello |
    I work at Lupo. / My dinner at Lupo is over. | The user works at Lupo |
    I live in Leeds. / Should I be done with Leeds? | The user lives in Leeds |
    My locker is 12. / My locker code is 3391. | The user's locker is 12 |
    My older daughter studies law. / My younger daughter studies medicine.
    | The user's older daughter studies law |
    I drive a Volvo V60. / I've got a rental Corsa for two days. | The user drives a Volvo V60 |
    I drink coffee every morning. / I don't drink tea, just coffee.
    | The user drinks coffee every morning |
    # A value in the place of a named one is told of the same.
    Our team lead is Kim. / Yusuf took over from Kim. | Yusuf | Kim
    My gym is FitFirst. / I left FitFirst, I go to PureGym now. | PureGym | at FitFirst
    My landlady is called Mrs Orr. / My new landlord is Mr Finch. | Finch | Orr
    I get up at six every day. / I get up at seven these days. | seven | six
    I take metoprolol. / My doctor switched me from metoprolol to ramipril. | rami | meto
    Our rent is 980 euros. / They've put our rent up, it's 1,060 euros now. | 1,060 | 980
    The code at the shed is 7719. / New code at the shed: 4402. | 4402 | 7719
    I've got pottery class on Tuesdays. / My pottery class moved to Fridays. | Fri | Tues
    I'm in flat 12, third floor. / So it's flat 27 we're in now. | 27 | 12
    My dentist is Dr Whitlock. / I see Dr Rao for my teeth these days. | Rao | Whitlock
    My phone is a Nokia 3310. / Upgraded to a Fairphone 5. | Fairphone | Nokia
    I live with two flatmates. / I live alone now. | alone | flatmates
    I work from home on Fridays. / I work from home on Mondays now. | Mondays | Fridays
    I weigh 92 kilos. / down to 88 kilos! | 88 | 92
    My car is a red Fiat Panda. / The Panda died, got a used Yaris. | Yaris | red Fiat
    My gym is FitX. / I quit FitX. | quit | trains
    Our wedding is on 6 June. / We put the wedding off till 9 July. | 9 July | 6 June
    The meeting is on the 10th. / No, the meeting is on the 11th, not the 10th.
    | 11 April | 10 April
    # What is only pointed at is the one that is known; what may be several is none of them.
    Fintan's swim is Saturdays at half nine. / His swim's at ten on Sundays now.
    | Sundays | Saturdays
    Don't let me call Dad on Mondays. / Thursday is the day I shouldn't call him now.
    | Thursday | Monday
    I take 10 mg of ramipril. / The pills are up to 20 mg now. | 20 mg | 10 mg
    Ed's class is on Sundays. Tom's class is on Mondays. / His class is on Fridays now.
    | Sundays | Fridays
    # What rests on an employer ends with it.
    I work at Contoso. My boss is Otto. / I've got a new job at Fabrikam! | Fabrikam | Otto
    Our club, the Larks, meets on Saturdays. / The Larks have moved to Sundays.
    | Sundays | Saturdays
    # Two sentences state what neither does alone; a subject left out is that of the one before.
    I've changed banks. It's Monzo now. | The user's bank is Monzo. |
    New flat! We're in Leith now. | The user lives in Leith. |
    Hello from Two Harbors! I moved in on Saturday. | The user lives in Two Harbors. |
    Changed doctors. It's Dr Wen now. | The user's doctor is called Dr Wen. |
    We got a puppy. I'm calling her Biscuit. | The user's puppy is called Biscuit. |
    Neil's gone and sold up. Living in a caravan at Robe. | | The user
    猫を飼っています。名前はモモです。 | ユーザーの猫の名前はモモ。 | ユーザーの名前
    娘が一人います。名前はさくらです。 | ユーザーの娘の名前はさくら。 | ユーザーの名前
    我养了一只猫。它叫咪咪。 | 用户的猫叫咪咪。 | 用户叫
    Ich arbeite im Krankenhaus. My dog is called Zorro. | Krankenhaus |
    Ich arbeite im Krankenhaus. My dog is called Zorro. | Zorro |
    """
    first, *later = said.split(" / ")
    facts = learned(first, *later)
    assert holds or not later or any(over in fact for fact in learned(first))
    assert not holds or any(holds in fact for fact in facts), facts
    assert not over or not any(over in fact for fact in facts), facts
