"""Ways to write into a PDF what its readers do not see, and what looks like one and is none."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest
from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    DecodedStreamObject,
    DictionaryObject,
    FloatObject,
    NameObject,
    NumberObject,
    PdfObject,
)

from pipeline.reading.documents import read_document
from pipeline.reading.pdf.pdf_pages import PdfText, read_pdf

SEEN = "The council of Grenmark closed the dam on 4 May 2031."
PLANTED = "Mayor Ilse Quorn was arrested for taking bribes."
OPEN = f"BT /F1 11 Tf 50 800 Td ({SEEN}) Tj ET\n"


def text(more: str = "", at: str = "1 0 0 1 50 700", size: float = 11) -> str:
    return f"BT /F1 {size} Tf {more} {at} Tm ({PLANTED}) Tj ET\n"


def _pdf(value: object) -> Any:
    if isinstance(value, PdfObject):
        return value
    if isinstance(value, dict):
        return DictionaryObject({NameObject(f"/{key}"): _pdf(entry) for key, entry in value.items()})
    if isinstance(value, (list, tuple)):
        return ArrayObject([_pdf(entry) for entry in value])
    if isinstance(value, str):
        return NameObject(f"/{value}")
    return FloatObject(value) if isinstance(value, float) else NumberObject(value)


def drawn(
    content: str,
    crop: list[int] | None = None,
    notes: Sequence[dict[str, object]] = (),
    **forms: tuple[str, dict[str, object]],
) -> bytes:
    """A file of one page with these operators. `forms` are further streams by name, `notes` annotations whose `AP` is one of
    them; two layers, /On and /Off, are there. A picture is fine enough for letters, a `/Blot` is not."""
    writer = PdfWriter()
    font = writer._add_object(
        _pdf({"Type": "Font", "Subtype": "Type1", "BaseFont": "Helvetica", "Encoding": "WinAnsiEncoding"})
    )
    layers = {name: writer._add_object(_pdf({"Type": "OCG"})) for name in ("On", "Off", "Printed")}
    printed: Any = layers["Printed"].get_object()
    printed[NameObject("/Usage")] = _pdf({"View": {"ViewState": "OFF"}})
    usage = {"Event": "View", "OCGs": [layers["Printed"]], "Category": ["View"]}
    settings = {"OCGs": [*layers.values()], "D": {"OFF": [layers["Off"]], "AS": [usage]}}
    writer._root_object[NameObject("/OCProperties")] = _pdf(settings)
    both = writer._add_object(_pdf({"Type": "OCMD", "P": "AllOn", "OCGs": [layers["On"], layers["Off"]]}))
    pictures = {}
    for name, n in (("Picture", 600), ("Blot", 1)):
        picture = DecodedStreamObject()
        picture.set_data(b"\x80" * n * n)
        kind = {"Type": "XObject", "Subtype": "Image", "BitsPerComponent": 8, "ColorSpace": "DeviceGray"}
        picture.update(_pdf({**kind, "Width": n, "Height": n}))
        pictures[name] = writer._add_object(picture.flate_encode())
    ink = {"FunctionType": 2, "Domain": [0, 1], "C0": [0, 0, 0, 0], "C1": [0, 0, 0, 0], "N": 1}
    resources = {
        "Font": {"F1": font},
        "Properties": {**layers, "Both": both},
        "ExtGState": {
            "Clear": {"ca": 0, "CA": 0},
            "Masked": {"SMask": {"S": "Luminosity"}},
        },
        "ColorSpace": {
            "Ink": ["Separation", "Spot", "DeviceCMYK", ink],
            "Dark": ["Separation", "Black", "DeviceCMYK", {**ink, "C1": [0, 0, 0, 1]}],
        },
        "XObject": pictures,
    }
    held = _pdf(resources)
    for name, (inner, entries) in forms.items():
        form = DecodedStreamObject()
        form.set_data(inner.encode("cp1252"))
        form.update(_pdf({"Type": "XObject", "Subtype": "Form", "BBox": [0, 0, 595, 842], "Resources": resources, **entries}))
        if "OC" in entries:
            form[NameObject("/OC")] = layers[str(entries["OC"])]
        held["/XObject"][NameObject(f"/{name}")] = writer._add_object(form)
    page = writer.add_blank_page(width=595, height=842)
    if crop:
        page[NameObject("/CropBox")] = _pdf(crop)
    page[NameObject("/Resources")] = held
    annotations = [_pdf({"Type": "Annot", "F": 4, **note}) for note in notes]
    for annotation in annotations:
        if "/OC" in annotation:
            annotation[NameObject("/OC")] = layers[str(annotation["/OC"])[1:]]
        if "/AP" in annotation:
            form = held["/XObject"].raw_get(annotation["/AP"])
            states = _pdf({"Yes": form}) if "/AS" in annotation else form
            annotation[NameObject("/AP")] = _pdf({"N": states})
    page[NameObject("/Annots")] = _pdf(annotations)
    stream = DecodedStreamObject()
    stream.set_data(content.encode("cp1252"))
    page[NameObject("/Contents")] = writer._add_object(stream)
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def read(content: str, **more: object) -> PdfText:
    return read_pdf(drawn(content, **more))  # type: ignore[arg-type]


HIDDEN = {
    "white": OPEN + text("1 g"),
    "nearly white": OPEN + text("0.97 0.98 0.99 rg"),
    "white ink": OPEN + text("0 0 0 0 k"),
    "a space with white": OPEN + text("/DeviceRGB cs 1 1 1 sc"),
    "an ink that is none": OPEN + text("/Ink cs 1 scn"),
    "the colour of its box": OPEN + "q 0.2 0.3 0.4 rg 40 690 400 40 re f Q " + text("0.2 0.3 0.4 rg"),
    "the colour of a polygon": OPEN + "q 0.2 0.3 0.4 rg 40 690 m 440 690 l 440 730 l 40 730 l h f Q " + text("0.2 0.3 0.4 rg"),
    "drawn with nothing": OPEN + text("3 Tr"),
    "a clip that nothing fills": OPEN + "q " + text("7 Tr") + "Q",
    "a white outline": OPEN + text("1 Tr 1 G"),
    "clear": OPEN + "q /Clear gs " + text() + "Q",
    "below a soft mask": OPEN * 5 + "q /Masked gs " + text() + "Q",
    "tiny": OPEN + text(size=0.5),
    "tiny by its matrix": OPEN + text(at="0.01 0 0 0.01 50 700"),
    "tiny by the page's": OPEN + "q 0.01 0 0 0.01 0 0 cm " + text(at="1 0 0 1 5000 70000") + "Q",
    "above the page": OPEN + text(at="1 0 0 1 50 900"),
    "left of the page": OPEN + text(at="1 0 0 1 -900 700"),
    "right of the page": OPEN + text(at="1 0 0 1 620 700"),
    "outside of its clip": OPEN + "q 0 0 20 20 re W n " + text() + "Q",
    "in an empty clip": OPEN + "q 60 700 0 0 re W n " + text() + "Q",
    "below a box": OPEN + text() + "1 g 40 680 500 40 re f",
    "below a black box": OPEN + text() + "0 g 40 680 500 40 re f",
    "below a picture": OPEN + text() + "q 500 0 0 60 40 680 cm /Picture Do Q",
    "below a picture of its own": OPEN + text() + "q 500 0 0 60 40 680 cm BI /W 1 /H 1 /CS /G /BPC 8 ID A EI Q",
    "a layer that is off": OPEN + "/OC /Off BDC " + text() + "EMC",
    "within a layer that is off": OPEN + "/OC /Off BDC /P BMC EMC " + text() + "EMC",
    "a layer for paper": OPEN + "/OC /Printed BDC " + text() + "EMC",
    "two layers, one off": OPEN + "/OC /Both BDC " + text() + "EMC",
    "the next line's operator": OPEN + f"BT 1 g /F1 11 Tf 12 TL 50 700 Td ({PLANTED}) ' ET",
    "pieces": OPEN + f"BT 1 g /F1 11 Tf 50 700 Td [({PLANTED[:20]}) -20 ({PLANTED[20:]})] TJ ET",
}  # fmt: skip


@pytest.mark.parametrize("way", HIDDEN)
def test_what_readers_do_not_see_is_not_read(way: str) -> None:
    found = read(HIDDEN[way])
    assert SEEN in found.text and "Quorn" not in found.text and "bribes" not in found.text
    assert found.n_hidden == len(PLANTED)


FORMS: dict[str, tuple[str, str, dict[str, object]]] = {
    "white": ("/Form Do", text("1 g"), {}),
    "white from outside": ("1 g /Form Do", text(), {}),
    "off the page": ("q 1 0 0 1 0 400 cm /Form Do Q", text(), {}),
    "by its matrix": ("/Form Do", text(), {"Matrix": [0.01, 0, 0, 0.01, 0, 0]}),
    "by its box": ("/Form Do", text(), {"BBox": [0, 0, 20, 20]}),
    "a layer that is off": ("/Form Do", text(), {"OC": "Off"}),
    "in a layer that is off": ("/OC /Off BDC /Form Do EMC", text(), {}),
    "among other words": ("/Form Do", "BT /F1 11 Tf 50 600 Td (A lower line.) Tj ET " + text("1 g"), {}),
}


@pytest.mark.parametrize("way", FORMS)
def test_forms_are_followed(way: str) -> None:
    content, inner, entries = FORMS[way]
    found = read(OPEN + content, Form=(inner, entries))
    assert SEEN in found.text and "Quorn" not in found.text
    assert ("A lower line." in found.text) is (way == "among other words")


def test_a_form_that_is_seen_once_is_read_once() -> None:
    found = read(OPEN + "/Form Do q 1 0 0 1 0 400 cm /Form Do Q", Form=(text(), {}))
    assert found.text.count(PLANTED) == 1


def test_forms_within_forms_have_an_end() -> None:
    found = read(OPEN + "/Form Do", Form=("/Form Do " * 20 + text(), {}))
    assert SEEN in found.text


def test_the_crop_is_the_page() -> None:
    found = read(OPEN + text(at="1 0 0 1 50 100"), crop=[0, 400, 595, 842])
    assert SEEN in found.text and "Quorn" not in found.text


SCAN = "q 595 0 0 842 0 0 cm /Picture Do Q "
SHOWN = {
    "black": OPEN + text(),
    "white on dark": OPEN + "q 0 0 0.4 rg 40 690 500 40 re f Q " + text("1 g"),
    "white on a picture": OPEN + "q 500 0 0 60 40 680 cm /Picture Do Q " + text("1 g"),
    "an ink": OPEN + text("/Dark cs 1 scn"),
    "grey": OPEN + text("0.6 g"),
    "an outline": OPEN + text("1 Tr 1 g 0 G"),
    "a clip that is filled": OPEN + "q " + text("7 Tr") + "1 0 0 rg 0 0 595 842 re f Q",
    "a small size, a large matrix": OPEN + text(at="11 0 0 11 50 700", size=1),
    "turned": OPEN + text(at="0 1 -1 0 300 300"),
    "upside down": OPEN + text(at="1 0 0 -1 50 700"),
    "a layer that is on": OPEN + "/OC /On BDC " + text() + "EMC",
    "tagged": OPEN + "/Span /Off BDC " + text() + "EMC",
    "on top of a box": OPEN + "1 g 40 680 500 40 re f 0 g " + text(),
    "a box beside it": OPEN + text() + "0 g 40 600 500 40 re f",
    "within its clip": OPEN + "q 40 690 500 40 re W n " + text() + "Q",
    "begun left of the page": OPEN + text(at="1 0 0 1 -2 700"),
    "a broken operator": OPEN + "(x) cm /Nothing gs " + text(),
    "a scan with its text below": SCAN + text("3 Tr") * 4,
    "a scan that lies on its text": text() * 4 + SCAN,
}


@pytest.mark.parametrize("way", SHOWN)
def test_what_readers_see_is_read(way: str) -> None:
    found = read(SHOWN[way])
    assert PLANTED in found.text.replace("\n", " ") and found.n_hidden == 0


# --- what lies on the page ---------------------------------------------------------------------------------------------

RECT = [40, 690, 540, 730]
COVER = ("1 g 0 0 50 4 re f", {"BBox": [0, 0, 50, 4]})
"""A white box that is stretched to the annotation's."""
NOTES: dict[str, dict[str, object]] = {
    "a stamp": {"Subtype": "Stamp", "Rect": RECT, "AP": "Cover"},
    "a field in its state": {"Subtype": "Widget", "Rect": RECT, "AP": "Cover", "AS": "Yes"},
    "a box turned round": {"Subtype": "Stamp", "Rect": [540, 730, 40, 690], "AP": "Cover"},
    "a box without a drawing": {"Subtype": "Square", "Rect": RECT, "IC": [1, 1, 1]},
    "a field with a ground": {"Subtype": "Widget", "Rect": RECT, "MK": {"BG": [1]}},
    "a note in letters": {"Subtype": "FreeText", "Rect": RECT, "C": [1, 1, 0]},
    "struck out": {"Subtype": "StrikeOut", "Rect": RECT, "QuadPoints": [40, 715, 400, 715, 40, 695, 400, 695]},
    "a layer that is on": {"Subtype": "Stamp", "Rect": RECT, "AP": "Cover", "OC": "On"},
}
BESIDE: dict[str, dict[str, object]] = {
    "hidden": {"Subtype": "Stamp", "Rect": RECT, "AP": "Cover", "F": 2},
    "not for the screen": {"Subtype": "Stamp", "Rect": RECT, "AP": "Cover", "F": 32},
    "a layer that is off": {"Subtype": "Stamp", "Rect": RECT, "AP": "Cover", "OC": "Off"},
    "elsewhere": {"Subtype": "Stamp", "Rect": [40, 590, 540, 630], "AP": "Cover"},
    "a link": {"Subtype": "Link", "Rect": RECT},
    "a highlight": {"Subtype": "Highlight", "Rect": RECT, "AP": "Cover"},
    "a frame": {"Subtype": "Square", "Rect": RECT, "C": [1, 0, 0]},
    "half clear": {"Subtype": "Square", "Rect": RECT, "IC": [1, 1, 1], "CA": 0.4},
    "another state": {"Subtype": "Widget", "Rect": RECT, "AP": "Cover", "AS": "Off"},
    "broken": {"Subtype": "Stamp", "Rect": [1, 2], "AP": "Cover"},
}


@pytest.mark.parametrize("way", NOTES)
def test_what_an_annotation_covers_is_not_read(way: str) -> None:
    found = read(OPEN + text(), notes=[NOTES[way]], Cover=COVER)
    assert SEEN in found.text and "Quorn" not in found.text and found.n_hidden == len(PLANTED)


@pytest.mark.parametrize("way", BESIDE)
def test_annotations_that_cover_nothing(way: str) -> None:
    found = read(OPEN + text(), notes=[BESIDE[way]], Cover=COVER)
    assert PLANTED in found.text and found.n_hidden == 0


def test_thousands_of_annotations_hide_no_cover() -> None:
    beside = {"Subtype": "Stamp", "Rect": [0, 0, 9, 9], "AP": "Cover"}
    found = read(OPEN + text(), notes=[beside] * 1_001 + [NOTES["a stamp"]], Cover=COVER)
    assert SEEN in found.text and "Quorn" not in found.text


# --- scans -------------------------------------------------------------------------------------------------------------


def test_a_scan_is_named_as_one() -> None:
    assert read(SCAN + text("3 Tr") * 4).n_scans == 1
    assert read(SCAN + text() * 4).n_scans == 0
    assert read(OPEN).n_scans == 0


def test_a_picture_too_coarse_for_letters_is_no_scan() -> None:
    found = read("q 595 0 0 842 0 0 cm /Blot Do Q " + text("3 Tr") * 4)
    assert "Quorn" not in found.text and found.n_scans == 0


def test_rows_of_tables_hold_nothing_hidden() -> None:
    rows = "".join(
        f"BT /F1 10 Tf 50 {600 - 16 * i} Td (Ward {i}) Tj 120 0 Td ({40 + i}) Tj 120 0 Td ({90 - i}) Tj ET\n"
        for i in range(1, 7)
    )
    found = read(OPEN + rows + "BT 1 g /F1 10 Tf 50 584 Td (Quorn) Tj 120 0 Td (999) Tj ET")
    assert "Ward 3" in found.text and "999" not in found.text and "Quorn" not in found.text


def test_the_page_says_that_there_was_hidden_text() -> None:
    def flags(content: str) -> tuple[str, ...]:
        body = drawn(content)
        return read_document(
            body, url="https://a.org/x.pdf", content_type="application/pdf", origin="search", run_date="2031-12-31"
        ).extracted.flags

    assert "scan_text" in flags(SCAN + text("3 Tr") * 4) and "scan_text" not in flags(OPEN)
    assert "hidden_text" in flags(OPEN + text("1 g") + text("1 g", at="1 0 0 1 50 650"))
    assert "hidden_text" not in flags(OPEN + text())
