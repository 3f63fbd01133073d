"""Pairs of pages about one event whose figures move, and pages that beside it speak of another one.

An article is written from the scene's first page, and `later` is found afterwards: a page of its own, or with `edited` the
first one's new text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Scene:
    title: str
    figure: str
    """The sentence whose figure moves."""
    rest: str


@dataclass(frozen=True, slots=True)
class Pair:
    kind: Literal["rising", "falling", "corrected", "disputed", "other"]
    scene: Scene
    says: str
    """Must stand in the article that knows both. Empty: nobody can say which is right."""
    later: str
    figure: str = ""
    """In place of the scene's own."""
    beside: str = ""
    """A sentence of the first page on something else, whose words nobody may touch."""
    edited: bool = False
    days: tuple[str, str] = ("2031-03-04", "2031-03-07")

    @property
    def first_page(self) -> str:
        return " ".join(filter(None, (self.figure or self.scene.figure, self.beside, self.scene.rest)))

    @property
    def later_page(self) -> str:
        return f"{self.later} {self.scene.rest}" if self.edited else self.later

    @property
    def older(self) -> str:
        """What may only stand as history: directly before what takes its place, or with the day of its report."""
        figure = self.figure or self.scene.figure
        return figure if self.says and self.says not in figure else ""


TRAIN = Scene(
    "2031 Marrow Junction derailment",
    "Five people were killed when a night train left the rails at Marrow Junction on Monday.",
    "The train was on its way from Oststadt to Marrow Junction with 140 passengers. "
    "Investigators recovered the recorder of the train on Tuesday morning. "
    "The line between Oststadt and Marrow Junction was closed for nine days.",
)
FIRE = Scene(
    "2031 Halvard warehouse fire",
    "At least 12 people died in the warehouse fire in Halvard on Sunday night.",
    "The fire broke out in a warehouse for textiles near the harbour of Halvard. "
    "Firefighters needed six hours to bring the fire in Halvard under control. "
    "The owner of the warehouse was questioned by the police on Wednesday.",
)
FLOOD = Scene(
    "2031 Tolvane flood",
    "The flood killed seven people in Tolvane.",
    "The river Ness rose above its banks in Tolvane after three days of rain. "
    "Soldiers built a dam of sandbags around the hospital of Tolvane. "
    "Schools in Tolvane will stay closed until the end of the month.",
)
QUAKE = Scene(
    "2031 Sarpe earthquake",
    "The earthquake in Sarpe killed 30 people.",
    "The earthquake struck the province of Sarpe shortly after midnight. "
    "Houses of clay collapsed in the villages around Sarpe. "
    "The government sent tents and blankets to Sarpe by helicopter.",
)
FERRY = Scene(
    "Lake Irma ferry accident",
    "Four people died when the ferry Anna sank on Lake Irma on Friday.",
    "The ferry Anna had left the pier of Irma shortly before six. "
    "Fishermen on Lake Irma pulled survivors from the water. "
    "The ferry had passed its last inspection in January.",
)
CRUSH = Scene(
    "2031 Ostrava stadium crush",
    "Six people were killed in the crush at the stadium in Ostrava.",
    "The crush began at the northern gate of the stadium in Ostrava. "
    "The gate had been opened 20 minutes after the match began. "
    "The club cancelled its matches in the stadium until April.",
)
STORM = Scene(
    "Storm Wilma (2031)",
    "Storm Wilma killed four people in Norland and cut the power of 30,000 homes on Saturday.",
    "The storm came from the sea and reached Norland in the night to Saturday. "
    "Trees blocked the railway between Norland and Hafen until Monday. "
    "The harbour of Norland stayed closed during the storm.",
)
MINE = Scene(
    "Kessel mine explosion",
    "Sixteen people were killed by an explosion in the Kessel mine on Tuesday.",
    "The Kessel mine belongs to the company Norcoal, which bought it in 2024. "
    "Gas had been measured in the Kessel mine two days before the explosion. "
    "The company Norcoal stopped work in all of its mines.",
)
CRASH = Scene(
    "2031 Pontal bus crash",
    "Eleven people died when a bus fell into a ravine near Pontal on Sunday.",
    "The bus was bringing pilgrims from Pontal to the chapel of Santa Rita. "
    "The road near Pontal has no barrier at the place of the crash. "
    "The company of the bus lost its licence in June.",
)
LOST = "At least 40 people are missing after the flood in Tolvane."

PAIRS = (
    Pair("rising", TRAIN, "seven", "The death toll of the derailment rose to seven on Thursday after two passengers died of "
         "their injuries.", edited=True),
    Pair("rising", TRAIN, "Seven people", "Seven people were killed when a night train left the rails at Marrow Junction on "
         "Monday.", edited=True),
    Pair("rising", TRAIN, "Eight people", "Eight people are now known to have died in the derailment at Marrow Junction. The "
         "driver of the train was among them."),
    Pair("rising", FIRE, "17", "The number of dead in the Halvard warehouse fire has climbed to 17, the city said."),
    Pair("rising", FIRE, "14", f"{FIRE.figure} The death toll grew to 14 when two workers died in hospital.", edited=True),
    Pair("rising", FLOOD, "11", "The death toll of the flood in Tolvane reached 11 on Friday.",
         figure="The flood killed seven people in Tolvane, and 20 people are missing."),
    Pair("rising", QUAKE, "45 people", "The earthquake in Sarpe killed 45 people and injured 320.",
         figure="The earthquake in Sarpe killed 30 people and injured 200."),
    Pair("rising", FERRY, "six", f"The death toll has risen to six, the coast guard said on Saturday. {FERRY.figure}",
         edited=True),
    Pair("rising", STORM, "seven people", "Storm Wilma has now killed seven people in Norland. The storm moved on to the "
         "east."),
    Pair("rising", MINE, "19", "Rescuers found three more bodies, which brings the death toll of the Kessel mine explosion to "
         "19."),
    Pair("rising", CRASH, "12", "A boy died of his injuries on Tuesday, raising the death toll from the Pontal bus crash to "
         "12."),
    # ---
    Pair("falling", FLOOD, "four", "The number of people missing fell to four on Thursday.", figure=LOST, edited=True),
    Pair("falling", FLOOD, "three people", "Only three people are still missing after the flood in Tolvane.", figure=LOST),
    Pair("falling", FERRY, "Six people", "Six people were missing after the ferry sank on Lake Irma. Eight others had walked "
         "home without telling anybody.", figure="Fourteen people were missing after the ferry sank on Lake Irma."),
    Pair("falling", QUAKE, "26", "The death toll was lowered from 30 to 26 after names had been counted twice.", edited=True),
    # ---
    Pair("corrected", TRAIN, "four", "Police corrected the number of dead to four.", edited=True),
    Pair("corrected", FIRE, "ten", "Authorities revised the death toll of the Halvard fire to ten. The remains of two visitors "
         "had been counted twice."),
    Pair("corrected", TRAIN, "Four people", "Four people, not five, were killed when a night train left the rails at Marrow "
         "Junction on Monday.", edited=True),
    Pair("corrected", CRUSH, "Five people", "Five people were killed in the crush at the stadium in Ostrava. Correction: an "
         "earlier version gave a wrong number.", edited=True),
    Pair("corrected", QUAKE, "28", "The ministry put the death toll of the Sarpe earthquake at 28 in its final report."),
    # ---
    Pair("disputed", TRAIN, "", "Six people were killed when a night train left the rails at Marrow Junction on Monday.",
         days=("2031-03-04", "2031-03-04")),
    Pair("disputed", QUAKE, "", "The earthquake in Sarpe killed 50 people. A church in Sarpe lost its tower.", days=("", "")),
    Pair("disputed", CRUSH, "", "Fans say that nine people were killed in the crush at the stadium in Ostrava. The club denies "
         "it.",
         days=("2031-03-04", "2031-03-04")),
    # --- another event's figure
    Pair("other", FLOOD, "eight", "Four people were killed when a bridge fell on a bus. The flood in Tolvane had killed seven "
         "people. The death toll of the flood in Tolvane rose to eight on Friday."),
    Pair("other", FLOOD, "eight", "The death toll of the flood in Tolvane rose to eight on Friday.",
         beside="Four people were killed when a bridge fell on a bus."),
    Pair("other", TRAIN, "Five people", "The last derailment in the region killed nine people near Altmark in 2019."),
    Pair("other", TRAIN, "Five people", "Two people were killed in the first carriage, and three in the second one."),
    Pair("other", TRAIN, "Five people", "Rail accidents killed 19 people in the country last year."),
    Pair("other", TRAIN, "Five people", "The film about the derailment at Marrow Junction tells how eight people were killed."),
    Pair("other", FIRE, "12 people", "In a separate fire, three people died in a hotel near the station. The death toll rose "
         "to five on Friday. The owner of the warehouse in Halvard was released."),
    Pair("other", FIRE, "12 people", "The warehouse in Halvard had burned before. In that fire, 16 people died."),
    Pair("other", QUAKE, "30 people", "A landslide killed 13 people on the road to Dorn on Thursday. The road leads from Sarpe "
         "to the coast."),
    Pair("other", QUAKE, "30 people", "A strike of miners in the south turned violent on Thursday. The death toll rose to 34 "
         "by evening. Sarpe lies far from the mines."),
    Pair("other", QUAKE, "36", "The death toll of the earthquake in Sarpe rose to 36.",
         beside="The earthquake of 1974 killed 44 people in Sarpe."),
    Pair("other", CRUSH, "Six people", "Eight people were killed in a crush at a concert in Brno."),
    Pair("other", CRUSH, "nine", "The death toll of the crush in Ostrava rose to nine.",
         beside="Three people were killed in riots after the match."),
    Pair("other", FLOOD, "seven people", "Floods in the neighbouring country killed 31 people this week."),
    Pair("other", FLOOD, "nine", "The death toll of the flood in Tolvane rose to nine. Soldiers are leaving Tolvane.",
         beside="In the village of Hamm, three people were killed by a falling tree."),
    Pair("other", FLOOD, "seven", "The flood killed 70 people in Tolvane, an anonymous post claimed. Tolvane denied it."),
    Pair("other", FERRY, "five", "A rescue helicopter crashed on the shore, and two of its crew were killed. The death toll of "
         "the ferry accident on Lake Irma rose to five."),
    Pair("other", STORM, "four people", "Storm Xaver, which came two weeks later, killed eight people in Norland."),
    Pair("other", STORM, "four people", "Five people died of carbon monoxide from a stove in Hafen. The storm had cut the "
         "power."),
    Pair("other", MINE, "Sixteen people", "In Norcoal's other mine, at Bruck, 21 people were killed by water in 2029."),
    Pair("other", CRASH, "Eleven people", "Another bus fell into the ravine near Pontal on Thursday; six people died."),
    Pair("other", CRASH, "Eleven people", "Fifteen people have died on the road near Pontal since January."),
)  # fmt: skip
