"""Pairs of pages about one event whose figures move, and pages that beside it speak of another one.

`first` is the page that an article was written from, `later` what is found afterwards: a page of its own, or with `edited`
the first one's new text. `says` must stand in the article that knows both, and `older` are sentences that may only stand as
history: directly before what takes their place, or with the day of their report. `others` are sentences on something else,
whose words nobody may touch.
"""

# ruff: noqa: E501 - one page a line
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["rising", "falling", "corrected", "disputed", "other"]


@dataclass(frozen=True, slots=True)
class Pair:
    kind: Kind
    title: str
    first: str
    later: str
    says: tuple[str, ...]
    older: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    days: tuple[str, str] = ("2031-03-04", "2031-03-07")
    edited: bool = False

    @property
    def name(self) -> str:
        return f"{self.kind}: {self.later[:50]}"


TRAIN = "2031 Marrow Junction derailment"
T1 = "Five people were killed when a night train left the rails at Marrow Junction on Monday."
T_REST = (
    "The train was on its way from Oststadt to Marrow Junction with 140 passengers. "
    "Investigators recovered the recorder of the train on Tuesday morning. "
    "The line between Oststadt and Marrow Junction was closed for nine days."
)
FIRE = "2031 Halvard warehouse fire"
F1 = "At least 12 people died in the warehouse fire in Halvard on Sunday night."
F_REST = (
    "The fire broke out in a warehouse for textiles near the harbour of Halvard. "
    "Firefighters needed six hours to bring the fire in Halvard under control. "
    "The owner of the warehouse was questioned by the police on Wednesday."
)
FLOOD = "2031 Tolvane flood"
FL1 = "The flood killed seven people in Tolvane, and 20 people are missing."
FL_REST = (
    "The river Ness rose above its banks in Tolvane after three days of rain. "
    "Soldiers built a dam of sandbags around the hospital of Tolvane. "
    "Schools in Tolvane will stay closed until the end of the month."
)
QUAKE = "2031 Sarpe earthquake"
Q1 = "The earthquake in Sarpe killed 30 people and injured 200."
Q_REST = (
    "The earthquake struck the province of Sarpe shortly after midnight. "
    "Houses of clay collapsed in the villages around Sarpe. "
    "The government sent tents and blankets to Sarpe by helicopter."
)
FERRY = "Lake Irma ferry accident"
FE1 = "Nine people drowned or died of cold when the ferry sank on Lake Irma; 14 people are missing."
FE2 = "Four people died when the ferry Anna sank on Lake Irma on Friday."
FE_REST = (
    "The ferry Anna had left the pier of Irma shortly before six. "
    "Fishermen on Lake Irma pulled survivors from the water. "
    "The ferry had passed its last inspection in January."
)
CLASH = "2031 Ostrava stadium crush"
C1 = "Six people were killed and 40 were injured in the crush at the stadium in Ostrava."
C_REST = (
    "The crush began at the northern gate of the stadium in Ostrava. "
    "The gate had been opened 20 minutes after the match began. "
    "The club cancelled its matches in the stadium until April."
)


def page(first: str, rest: str) -> str:
    return f"{first} {rest}"


PAIRS = (
    # --- rising -------------------------------------------------------------------------------------------------------
    Pair("rising", TRAIN, page(T1, T_REST), f"The death toll of the derailment rose to seven on Thursday after two passengers died of their injuries. {T_REST}",
         ("seven",), (T1,), edited=True),
    Pair("rising", TRAIN, page(T1, T_REST), f"Seven people were killed when a night train left the rails at Marrow Junction on Monday. {T_REST}",
         ("Seven people",), (T1,), edited=True),
    Pair("rising", TRAIN, page(T1, T_REST), "Eight people are now known to have died in the derailment at Marrow Junction. The driver of the train was among them.",
         ("Eight people",), (T1,)),
    Pair("rising", FIRE, page(F1, F_REST), "The number of dead in the Halvard warehouse fire has climbed to 17, the city said. Two of the halls had no sprinklers.",
         ("17",), (F1,)),
    Pair("rising", FIRE, page(F1, F_REST), f"{F1} The death toll grew to 14 when two workers died in hospital. {F_REST}",
         ("14",), (F1,), edited=True),
    Pair("rising", FLOOD, page(FL1, FL_REST), "The death toll of the flood in Tolvane reached 11 on Friday. Helicopters brought food to farms near Tolvane.",
         ("11",), (FL1,)),
    Pair("rising", QUAKE, page(Q1, Q_REST), "The earthquake in Sarpe killed 45 people and injured 320. Rescue teams from three countries arrived in Sarpe.",
         ("45 people",), (Q1,)),
    Pair("rising", QUAKE, page(Q1, Q_REST), f"The number of injured rose to 260. {Q1.replace('30', '38').replace(' and injured 200', '')} {Q_REST}",
         ("38 people",), (Q1,), edited=True),
    Pair("rising", CLASH, page(C1, C_REST), "The death toll of the stadium crush in Ostrava stands at eight now, doctors said. Families waited outside of the hospital in Ostrava.",
         ("eight",), (C1,)),
    Pair("rising", FERRY, page(FE2, FE_REST), f"The death toll has risen to six, the coast guard said on Saturday. {FE2} {FE_REST}",
         ("six",), (FE2,), edited=True),
    # --- falling ------------------------------------------------------------------------------------------------------
    Pair("falling", FLOOD, page("Twenty people are missing after the flood in Tolvane.", FL_REST), f"The number of people missing fell to four on Thursday. {FL_REST}",
         ("four",), ("Twenty people are missing after the flood in Tolvane.",), edited=True),
    Pair("falling", FLOOD, page("At least 40 people are missing after the flood in Tolvane.", FL_REST), "Only three people are still missing after the flood in Tolvane. Divers searched the river Ness on Friday.",
         ("three people",), ("At least 40 people are missing after the flood in Tolvane.",)),
    Pair("falling", FERRY, page("Fourteen people were missing after the ferry sank on Lake Irma.", FE_REST), "Six people were missing after the ferry sank on Lake Irma. Eight others had walked home without telling anybody.",
         ("Six people",), ("Fourteen people were missing after the ferry sank on Lake Irma.",)),
    Pair("falling", QUAKE, page("The earthquake in Sarpe killed 30 people.", Q_REST), f"The death toll was lowered from 30 to 26 after names had been counted twice. {Q_REST}",
         ("26",), ("The earthquake in Sarpe killed 30 people.",), edited=True),
    Pair("falling", CLASH, page("Forty people were injured in the crush at the stadium in Ostrava.", C_REST), "The number of people injured in the stadium crush dropped to 32, the city of Ostrava said. The rest had been counted twice.",
         ("32",), ("Forty people were injured in the crush at the stadium in Ostrava.",)),
    # --- corrected ----------------------------------------------------------------------------------------------------
    Pair("corrected", TRAIN, page(T1, T_REST), f"Police corrected the number of dead to four. {T_REST}", ("four",), (T1,), edited=True),
    Pair("corrected", FIRE, page(F1, F_REST), "Authorities revised the death toll of the Halvard fire to ten. The remains of two visitors had been counted twice.",
         ("ten",), (F1,)),
    Pair("corrected", TRAIN, page(T1, T_REST), f"Four people, not five, were killed when a night train left the rails at Marrow Junction on Monday. {T_REST}",
         ("Four people",), (T1,), edited=True),
    Pair("corrected", CLASH, page("Six people were killed in the crush at the stadium in Ostrava.", C_REST), f"Five people were killed in the crush at the stadium in Ostrava. {C_REST} Correction: an earlier version gave a wrong number.",
         ("Five people",), ("Six people were killed in the crush at the stadium in Ostrava.",), edited=True),
    Pair("corrected", QUAKE, page("The earthquake in Sarpe killed 30 people.", Q_REST), "The ministry put the death toll of the Sarpe earthquake at 28 in its final report. The report names the villages.",
         ("28",), ("The earthquake in Sarpe killed 30 people.",)),
    # --- disputed: nobody can say which is right, both are shown or neither is told as the later -------------------------
    Pair("disputed", TRAIN, page(T1, T_REST), "Six people were killed when a night train left the rails at Marrow Junction on Monday. The mayor of Marrow Junction spoke of a black day.",
         (), days=("2031-03-04", "2031-03-04")),
    Pair("disputed", QUAKE, page("The earthquake in Sarpe killed 30 people.", Q_REST), "The earthquake in Sarpe killed 50 people. A church in Sarpe lost its tower.",
         (), days=("", "")),
    Pair("disputed", CLASH, page("Six people were killed in the crush at the stadium in Ostrava.", C_REST), "Fans say that nine people were killed in the crush at the stadium in Ostrava. The club denies it.",
         (), days=("2031-03-04", "2031-03-04")),
    # --- another event's figure -----------------------------------------------------------------------------------------
    Pair("other", FLOOD, page("The flood killed seven people in Tolvane.", FL_REST), "Four people were killed when a bridge fell on a bus. The flood in Tolvane had killed seven people. The death toll of the flood in Tolvane rose to eight on Friday.",
         ("eight",), ("The flood killed seven people in Tolvane.",), ("Four people were killed when a bridge fell on a bus.",)),
    Pair("other", FLOOD, page("The flood killed seven people in Tolvane. Four people were killed when a bridge fell on a bus.", FL_REST), "The death toll of the flood in Tolvane rose to eight on Friday. Helicopters brought food to farms near Tolvane.",
         ("eight",), ("The flood killed seven people in Tolvane.",), ("Four people were killed when a bridge fell on a bus.",)),
    Pair("other", TRAIN, page(T1, T_REST), "The last derailment in the region killed nine people near Altmark in 2019. The line to Marrow Junction was opened again on Friday.",
         ("Five people",), (), ("The last derailment in the region killed nine people near Altmark in 2019.",)),
    Pair("other", FIRE, page(F1, F_REST), "In a separate fire, three people died in a hotel near the station. The death toll rose to five on Friday. The owner of the warehouse in Halvard was released.",
         ("12 people",), (), ("In a separate fire, three people died in a hotel near the station.", "The death toll rose to five on Friday.")),
    Pair("other", QUAKE, page("The earthquake in Sarpe killed 30 people.", Q_REST), "A landslide killed 13 people on the road to Dorn on Thursday. The road leads from Sarpe to the coast.",
         ("30 people",), (), ("A landslide killed 13 people on the road to Dorn on Thursday.",)),
    Pair("other", CLASH, page("Six people were killed in the crush at the stadium in Ostrava.", C_REST), "Eight people were killed in a crush at a concert in Brno. The crush in Ostrava had led to a debate on gates.",
         ("Six people",), (), ("Eight people were killed in a crush at a concert in Brno.",)),
    Pair("other", FERRY, page(FE2, FE_REST), "Seven people died when a coach went off the road on its way to the funeral. The coach had been hired by relatives from Irma.",
         ("Four people",), (), ("Seven people died when a coach went off the road on its way to the funeral.",)),
    Pair("other", TRAIN, page(T1, T_REST), "Two people were killed in the first carriage, and three in the second one. The carriages stood at Marrow Junction until Friday.",
         ("Five people",), (), ("Two people were killed in the first carriage, and three in the second one.",)),
    Pair("other", FLOOD, page("The flood killed seven people in Tolvane.", FL_REST), "Floods in the neighbouring country killed 31 people this week. Tolvane received tents from there.",
         ("seven people",), (), ("Floods in the neighbouring country killed 31 people this week.",)),
    Pair("other", QUAKE, page("The earthquake in Sarpe killed 30 people. The earthquake of 1974 killed 44 people in Sarpe.", Q_REST), "The death toll of the earthquake in Sarpe rose to 36. Rescue teams from three countries arrived in Sarpe.",
         ("36",), ("The earthquake in Sarpe killed 30 people.",), ("The earthquake of 1974 killed 44 people in Sarpe.",)),
    Pair("other", FIRE, page(F1, F_REST), "Police in Halvard said that nine people died on the roads of the district in February. The warehouse fire was the worst since the war.",
         ("12 people",), (), ("Police in Halvard said that nine people died on the roads of the district in February.",)),
    Pair("other", CLASH, page("Six people were killed in the crush at the stadium in Ostrava. Three people were killed in riots after the match.", C_REST), "The death toll of the crush in Ostrava rose to nine. The club in Ostrava will pay for the funerals.",
         ("nine",), ("Six people were killed in the crush at the stadium in Ostrava.",), ("Three people were killed in riots after the match.",)),
    Pair("other", TRAIN, page(T1, T_REST), "Twelve people died when a plane crashed into a field near Oststadt on Thursday. The crash was seen from the line to Marrow Junction.",
         ("Five people",), (), ("Twelve people died when a plane crashed into a field near Oststadt on Thursday.",)),
    Pair("other", FERRY, page(FE2, FE_REST), "A rescue helicopter crashed on the shore, and two of its crew were killed. The death toll of the ferry accident on Lake Irma rose to five.",
         ("five",), (FE2,), ("A rescue helicopter crashed on the shore, and two of its crew were killed.",)),
    Pair("other", FLOOD, page("The flood killed seven people in Tolvane. In the village of Hamm, three people were killed by a falling tree.", FL_REST), "The death toll of the flood in Tolvane rose to nine. Soldiers are leaving Tolvane.",
         ("nine",), ("The flood killed seven people in Tolvane.",), ("In the village of Hamm, three people were killed by a falling tree.",)),
    Pair("other", QUAKE, page("The earthquake in Sarpe killed 30 people.", Q_REST), "A strike of miners in the south turned violent on Thursday. The death toll rose to 34 by evening. Sarpe lies far from the mines.",
         ("30 people",), (), ("The death toll rose to 34 by evening.",)),
    Pair("other", FIRE, page(F1, F_REST), "The warehouse in Halvard had burned before. In that fire, 16 people died. The inquiry blamed the owner of the warehouse.",
         ("12 people",), (), ("In that fire, 16 people died.",)),
    Pair("other", TRAIN, page(T1, T_REST), "Rail accidents killed 19 people in the country last year. The line to Marrow Junction was opened again on Friday.",
         ("Five people",), (), ("Rail accidents killed 19 people in the country last year.",)),
)  # fmt: skip
STORM = "Storm Wilma (2032)"
S1 = "Storm Wilma killed four people in Norland and cut the power of 30,000 homes on Saturday."
S_REST = (
    "The storm came from the sea and reached Norland in the night to Saturday. "
    "Trees blocked the railway between Norland and Hafen until Monday. "
    "The harbour of Norland stayed closed during the storm."
)
MINE = "Kessel mine explosion"
M1 = "An explosion in the Kessel mine killed 16 miners and trapped 22 people on Tuesday."
M2 = "Sixteen people were killed by an explosion in the Kessel mine on Tuesday."
M_REST = (
    "The Kessel mine belongs to the company Norcoal, which bought it in 2024. "
    "Gas had been measured in the Kessel mine two days before the explosion. "
    "The company Norcoal stopped work in all of its mines."
)
CRASH = "2032 Pontal bus crash"
B1 = "Eleven people died when a bus fell into a ravine near Pontal on Sunday."
B_REST = (
    "The bus was bringing pilgrims from Pontal to the chapel of Santa Rita. "
    "The road near Pontal has no barrier at the place of the crash. "
    "The company of the bus lost its licence in June."
)
FRESH = (
    Pair("rising", STORM, page(S1, S_REST), "The number of people killed by Storm Wilma rose to six, the police of Norland said. Crews repaired the power lines.",
         ("six",), (S1,), days=("2032-01-10", "2032-01-12")),
    Pair("rising", STORM, page(S1, S_REST), "Storm Wilma has now killed seven people in Norland. The storm moved on to the east.",
         ("seven people",), (S1,), days=("2032-01-10", "2032-01-12")),
    Pair("rising", MINE, page(M2, M_REST), f"The death toll from the explosion in the Kessel mine climbed to 19 on Thursday. {M_REST}",
         ("19",), (M2,), days=("2032-05-05", "2032-05-06"), edited=True),
    Pair("rising", MINE, page(M2, M_REST), "Rescuers found three more bodies, which brings the death toll of the Kessel mine explosion to 19. The mine will be closed.",
         ("19",), (M2,), days=("2032-05-05", "2032-05-06")),
    Pair("rising", CRASH, page(B1, B_REST), "Thirteen people died when a bus fell into a ravine near Pontal on Sunday. Two pilgrims died in hospital during the night.",
         ("Thirteen people",), (B1,), days=("2032-06-14", "2032-06-15")),
    Pair("rising", CRASH, page(B1, B_REST), "A boy died of his injuries on Tuesday, raising the death toll from the Pontal bus crash to 12. His parents were on the bus, too.",
         ("12",), (B1,), days=("2032-06-14", "2032-06-15")),
    Pair("falling", STORM, page("Nine people are missing after Storm Wilma in Norland.", S_REST), "Two people are still missing after Storm Wilma, the police of Norland said. Boats searched the coast.",
         ("Two people",), ("Nine people are missing after Storm Wilma in Norland.",), days=("2032-01-10", "2032-01-12")),
    Pair("falling", MINE, page("Eighteen people were missing after the explosion in the Kessel mine.", M_REST), f"The number of missing has dropped to five. {M_REST}",
         ("five",), ("Eighteen people were missing after the explosion in the Kessel mine.",), days=("2032-05-05", "2032-05-06"), edited=True),
    Pair("corrected", CRASH, page(B1, B_REST), "The police corrected the death toll of the bus crash near Pontal from eleven to nine. Two names had been on two lists.",
         ("nine",), (B1,), days=("2032-06-14", "2032-06-15")),
    Pair("corrected", MINE, page(M2, M_REST), "Norcoal lowered the number of people killed in the Kessel mine to 14. The company apologised to two families.",
         ("14",), (M2,), days=("2032-05-05", "2032-05-06")),
    Pair("disputed", CRASH, page(B1, B_REST), "Nine people died when a bus fell into a ravine near Pontal on Sunday. The road was closed for a day.",
         (), days=("2032-06-14", "2032-06-14")),
    Pair("other", STORM, page(S1, S_REST), "A fire in a home for old people in Hafen killed nine people on Sunday. The storm had cut its power.",
         ("four people",), (), ("A fire in a home for old people in Hafen killed nine people on Sunday.",), days=("2032-01-10", "2032-01-12")),
    Pair("other", STORM, page(f"{S1} Two people were killed in a crash on an icy road.", S_REST), "The death toll of Storm Wilma rose to five. The railway between Norland and Hafen is open again.",
         ("five",), (S1,), ("Two people were killed in a crash on an icy road.",), days=("2032-01-10", "2032-01-12")),
    Pair("other", STORM, page(S1, S_REST), "Storm Xaver, which came two weeks later, killed eight people in Norland. It was weaker than Wilma.",
         ("four people",), (), ("Storm Xaver, which came two weeks later, killed eight people in Norland.",), days=("2032-01-10", "2032-01-27")),
    Pair("other", MINE, page(M2, M_REST), "In Norcoal's other mine, at Bruck, 21 people were killed by water in 2029. The Kessel mine is the deeper one.",
         ("Sixteen people",), (), ("In Norcoal's other mine, at Bruck, 21 people were killed by water in 2029.",), days=("2032-05-05", "2032-05-06")),
    Pair("other", MINE, page(M2, M_REST), "An explosion in a fireworks factory killed 20 people on Friday. The dead of the Kessel mine were buried on the same day.",
         ("Sixteen people",), (), ("An explosion in a fireworks factory killed 20 people on Friday.",), days=("2032-05-05", "2032-05-08")),
    Pair("other", CRASH, page(B1, B_REST), "Another bus fell into the ravine near Pontal on Thursday; six people died. The second bus had no pilgrims on board.",
         ("Eleven people",), (), ("Another bus fell into the ravine near Pontal on Thursday; six people died.",), days=("2032-06-14", "2032-06-18")),
    Pair("other", CRASH, page(B1, B_REST), "Fifteen people have died on the road near Pontal since January. The road has no barrier.",
         ("Eleven people",), (), ("Fifteen people have died on the road near Pontal since January.",), days=("2032-06-14", "2032-06-18")),
    Pair("other", CRASH, page(f"{B1} Seven people were killed in shootings in the town of Pontal over the weekend.", B_REST), "The number of people killed in the Pontal bus crash rose to 14. The driver had slept.",
         ("14",), (B1,), ("Seven people were killed in shootings in the town of Pontal over the weekend.",), days=("2032-06-14", "2032-06-15")),
    Pair("other", FLOOD, page("The flood killed seven people in Tolvane.", FL_REST), "The flood killed 70 people in Tolvane, an anonymous post claimed. The post was deleted. Tolvane denied it.",
         ("seven",), (), ("The flood killed 70 people in Tolvane, an anonymous post claimed.",)),
    Pair("other", TRAIN, page(T1, T_REST), "The film about the derailment at Marrow Junction tells how eight people were killed. It won two prizes.",
         ("Five people",), (), ("The film about the derailment at Marrow Junction tells how eight people were killed.",)),
    Pair("other", CLASH, page("Six people were killed in the crush at the stadium in Ostrava.", C_REST), "Twenty people were killed at the stadium in Ostrava when its roof fell in 1998. The club in Ostrava remembered them.",
         ("Six people",), (), ("Twenty people were killed at the stadium in Ostrava when its roof fell in 1998.",)),
    Pair("other", STORM, page(S1, S_REST), "Five people died of carbon monoxide from a stove in Hafen. The storm had cut the power of their house.",
         ("four people",), (), ("Five people died of carbon monoxide from a stove in Hafen.",), days=("2032-01-10", "2032-01-12")),
)  # fmt: skip
"""Written after the rules stood, to see what they do with pages that nobody had in mind."""
