"""What a PDF's page says to programs and not to its readers is taken out of it, before its text is read.

The page's operators are followed as a viewer does: colours and what was painted below, sizes, the page's edge and clips, what
is painted on top, layers that are off, letters drawn with nothing. A scan has its text in such letters below or above its
picture: there they stand for what a reader sees, and stay; the page is called a scan. Where nobody can decide (a soft mask, a
blend mode) letters count as hidden as long as they are at most 30% of the page. Not seen: fonts that draw other letters,
pictures and patterns in the colour of letters, a scan whose letters say something else than its picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pipeline.reading.pdf.pdf_annotations import Annotation, annotations_of
from pipeline.reading.pdf.pdf_colours import WHITE, Rgb, alike
from pipeline.reading.pdf.pdf_layers import is_off as is_group_off
from pipeline.reading.pdf.pdf_objects import WRONG, got, named_property
from pipeline.reading.pdf.pdf_places import UNIT, Box, Matrix, around, common, holds, is_box, matrix_of, moved, page_box, times
from pipeline.reading.pdf.pdf_state import Font, State, coloured, font_of, length_of, with_settings
from pipeline.reading.seen.colours import FAINT
from pipeline.reading.seen.visibility import SMALL

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_UNSURE = 0.3
"""Share of a page's letters up to which those count as hidden of which nobody can tell."""
_SCAN = 0.5
"""Share of a page that a picture takes where the page is a scan."""
_LEAST_DPI = 50.0
"""Pixels an inch of a picture in which letters can be read."""
_TINY = 0.75 * SMALL
"""Points; a pixel has three quarters of one."""
_MOST_PAINTS = 400
"""Of one page that are remembered, the largest."""
_LEAST_COVER = 4.0
"""Square points of what may cover letters."""
_MOST_FORMS, _DEEPEST = 1_000, 10


@dataclass(slots=True)
class _Letters:
    """One operator that shows text."""

    n: int
    start: tuple[float, float]
    end: tuple[float, float]
    is_hidden: bool = False
    is_layer: bool = False
    """Drawn with nothing, or below a picture, as the text of a scan is."""
    is_unsure: bool = False


@dataclass(frozen=True, slots=True)
class _Paint:
    """`colour` is None where it is not known; what is not `sure` may leave parts of its box free."""

    box: Box
    colour: Rgb | None
    sure: bool

    @property
    def area(self) -> float:
        return (self.box[2] - self.box[0]) * (self.box[3] - self.box[1])


@dataclass(slots=True)
class _Stream:
    """A page's or form's operators, and what each showed: letters, or another stream."""

    operations: list[tuple[Any, bytes]]
    source: Any
    shown: dict[int, list[_Letters | _Stream]] = field(default_factory=dict)

    def letters(self) -> Iterator[_Letters]:
        for parts in self.shown.values():
            for part in parts:
                if isinstance(part, _Letters):
                    yield part
                else:
                    yield from part.letters()


@dataclass(frozen=True, slots=True)
class Sight:
    """How many bytes of a page's text its readers do not see. Of a scan they see none: its text stands for its picture."""

    n_hidden: int = 0
    is_scan: bool = False


def take_out_hidden(reader: PdfReader, page: PageObject, off: frozenset[int]) -> Sight:
    """Takes out of `page` what its readers do not see. `off` is of `layers_off`."""
    from pypdf.generic import ContentStream, NameObject

    if "/Contents" not in page:
        return Sight()
    content = ContentStream(page["/Contents"], reader, "bytes")
    data = content.get_data()
    stream = _Stream(content.operations, page)
    viewer = _Viewer(reader, page_box(page), off)
    viewer.show(stream, State())
    for annotation in annotations_of(page, off):
        viewer.lay_on(annotation)
    sight = viewer.decide(list(stream.letters()))
    if sight.n_hidden:
        content.operations = _Filter(reader).kept(stream)
    else:
        content._data = data  # else it would be written out from its operators, to be read again
    page[NameObject("/Contents")] = content
    return sight


# --- following the operators -------------------------------------------------------------------------------------------


class _Viewer:
    """Follows the operators of one page, in the order in which a viewer paints."""

    def __init__(self, reader: PdfReader, box: Box, off: frozenset[int]) -> None:
        self.reader = reader
        self.box = box
        self.off = off
        self.n_forms = 0
        self._letters: list[_Letters] = []
        self._waiting: list[_Letters] = []
        """Letters that clip what is painted next, and are seen when something is."""
        self._paints: list[_Paint] = []
        self._open_letters: list[_Letters] = []
        self._pictures = 0.0
        self._fonts: dict[int, Font | None] = {}

    def show(self, stream: _Stream, state: State, depth: int = 0, *, is_off: bool = False) -> None:
        resources = got(stream.source.get("/Resources")) or {}
        stack: list[State] = []
        marks: list[bool] = []
        matrix = line = UNIT
        path: list[tuple[float, float]] = []
        is_straight, is_clip = True, False
        box: Box
        for at, (operands, operator) in enumerate(stream.operations):
            try:
                if operator == b"q":
                    stack.append(state)
                elif operator == b"Q":
                    state = stack.pop() if stack else state
                    self._waiting.clear()
                elif operator == b"cm":
                    state = replace(state, ctm=times(matrix_of(operands), state.ctm))
                elif operator in _PATHS:
                    points = [float(operand) for operand in operands]
                    if operator == b"re":
                        x, y, width, height = points
                        points = [x, y, x + width, y, x, y + height, x + width, y + height]
                    is_straight = is_straight and operator in (b"re", b"m", b"l")
                    path += [moved(x, y, state.ctm) for x, y in zip(points[::2], points[1::2])]
                elif operator in (b"W", b"W*"):
                    is_clip = True
                elif operator in _ENDS_PATH:
                    if path:
                        box = around(path)
                        if operator in _FILLS and not (is_off or any(marks)):
                            sure = is_straight and is_box(path, box)
                            self._paint(box, state, state.fill, state.fill_alpha, sure=sure)
                        if is_clip:  # any other path clips at least what is outside of its box
                            state = replace(state, clip=common(state.clip, box))
                    path, is_straight, is_clip = [], True, False
                elif operator in _COLOURS:
                    state = coloured(state, operator, operands, resources)
                elif operator == b"gs":
                    state = with_settings(state, got(got(resources["/ExtGState"])[operands[0]]))
                elif operator == b"BT":
                    matrix = line = UNIT
                elif operator == b"Tf":
                    font = self._font((got(resources.get("/Font")) or {}).get(operands[0]))
                    state = replace(state, size=float(operands[1]), font=font)
                elif operator == b"Tr":
                    state = replace(state, mode=int(operands[0]))
                elif operator in (b"Tc", b"Tw"):
                    spacing = (
                        (float(operands[0]), state.spacing[1]) if operator == b"Tc" else (state.spacing[0], float(operands[0]))
                    )
                    state = replace(state, spacing=spacing)
                elif operator == b"Tz":
                    state = replace(state, stretch=float(operands[0]) / 100)
                elif operator == b"TL":
                    state = replace(state, leading=float(operands[0]))
                elif operator == b"Tm":
                    matrix = line = matrix_of(operands)
                elif operator in (b"Td", b"TD"):
                    if operator == b"TD":
                        state = replace(state, leading=-float(operands[1]))
                    matrix = line = times((1, 0, 0, 1, float(operands[0]), float(operands[1])), line)
                elif operator == b"T*":
                    matrix = line = times((1, 0, 0, 1, 0, -state.leading), line)
                elif operator in _SHOWS:
                    if operator in (b"'", b'"'):
                        matrix = line = times((1, 0, 0, 1, 0, -state.leading), line)
                    n, width = length_of(operands, state)
                    letters = _Letters(n, *_places(matrix, state, width))
                    stream.shown.setdefault(at, []).append(letters)
                    self._show_letters(letters, matrix, state, is_off or any(marks))
                    matrix = times((1, 0, 0, 1, width, 0), matrix)
                elif operator in (b"BDC", b"BMC"):
                    is_layer = operator == b"BDC" and operands[0] == "/OC"
                    marks.append(is_layer and is_group_off(named_property(operands[1], resources), self.off))
                elif operator == b"EMC":
                    del marks[-1:]
                elif operator == b"Do":
                    thing = got(got(resources["/XObject"])[operands[0]])
                    is_left = is_off or any(marks) or ("/OC" in thing and is_group_off(thing.raw_get("/OC"), self.off))
                    if thing.get("/Subtype") == "/Form":
                        self._show_form(stream, at, thing, state, depth, is_off=is_left)
                    elif not is_left:
                        self._picture(state, thing, sure=not ({"/SMask", "/Mask", "/ImageMask"} & thing.keys()))
                elif operator == b"INLINE IMAGE" and not (is_off or any(marks)):
                    self._picture(state, operands["settings"], sure=not ({"/IM", "/ImageMask"} & operands["settings"].keys()))
                elif operator == b"sh" and not (is_off or any(marks)):
                    self._paint(state.clip, state, None, state.fill_alpha, sure=False)
            except WRONG:  # a viewer goes on behind an operator that it does not understand
                continue

    def lay_on(self, annotation: Annotation) -> None:
        """After the page's own operators. A drawing that is not followed may cover all that lies below it."""
        from pypdf.generic import ContentStream

        self.n_forms += 1
        if annotation.drawing is None or self.n_forms > _MOST_FORMS:
            for box in annotation.boxes:
                self._paint(box, State(), None, 1.0, sure=True)
            return
        try:
            inner = _Stream(ContentStream(annotation.drawing, self.reader, "bytes").operations, annotation.drawing)
            self._show_within(inner, State(ctm=annotation.matrix, is_blended=annotation.shines_through), 0, is_off=False)
        except WRONG:
            return

    def decide(self, letters: Sequence[_Letters]) -> Sight:
        """Marks the letters that are hidden."""
        total = sum(one.n for one in letters)
        layer = sum(one.n for one in letters if one.is_layer and not one.is_hidden)
        is_scan = self._pictures >= _SCAN and layer > (1 - _UNSURE) * total
        unsure = sum(one.n for one in letters if one.is_unsure)
        for one in letters:
            if (one.is_layer and not is_scan) or (one.is_unsure and unsure <= _UNSURE * total):
                one.is_hidden = True
        return Sight(sum(one.n for one in letters if one.is_hidden), is_scan)

    def _show_form(self, stream: _Stream, at: int, form: Any, state: State, depth: int, *, is_off: bool) -> None:
        from pypdf.generic import ContentStream

        self.n_forms += 1
        if self.n_forms > _MOST_FORMS or depth >= _DEEPEST:  # not followed, so not read either
            stream.shown.setdefault(at, []).append(_Letters(1, (0, 0), (0, 0), is_hidden=True))
            return
        inner = _Stream(ContentStream(form, self.reader, "bytes").operations, form)
        stream.shown.setdefault(at, []).append(inner)
        self._show_within(inner, state, depth + 1, is_off=is_off)

    def _show_within(self, stream: _Stream, state: State, depth: int, *, is_off: bool) -> None:
        """A form, in its own matrix and box."""
        form, within = stream.source, state
        if "/Matrix" in form:
            within = replace(within, ctm=times(matrix_of(got(form["/Matrix"])), within.ctm))
        if "/BBox" in form:
            left, bottom, right, top = (float(value) for value in got(form["/BBox"]))
            corners = [moved(x, y, within.ctm) for x in (left, right) for y in (bottom, top)]
            within = replace(within, clip=common(within.clip, around(corners)))
        self.show(stream, within, depth, is_off=is_off)

    def _show_letters(self, letters: _Letters, matrix: Matrix, state: State, is_off: bool) -> None:
        fills, strokes = state.mode in (0, 2, 4, 6), state.mode in (1, 2, 5, 6)
        a, b, c, d = times(matrix, state.ctm)[:4]
        height = abs(state.size) * abs(a * d - b * c) ** 0.5
        seen = self._contrasts(letters, state.fill, state.fill_alpha) if fills else False
        seen = seen or (strokes and self._contrasts(letters, state.stroke, state.stroke_alpha))
        letters.is_layer = not fills and not strokes
        if letters.is_layer and state.mode == 7:
            self._waiting.append(letters)
        letters.is_unsure = state.is_blended
        letters.is_hidden = (
            is_off
            or (height < _TINY and not (state.font and state.font.is_drawn))
            or not _touches(letters, common(self.box, state.clip), height)
            or ((fills or strokes) and not seen)
        )
        if not letters.is_hidden and not letters.is_layer:
            self._open_letters.append(letters)

    def _font(self, value: Any) -> Font | None:
        font = got(value)
        if font is None:
            return None
        if id(font) not in self._fonts:
            self._fonts[id(font)] = font_of(font)
        return self._fonts[id(font)]

    def _contrasts(self, letters: _Letters, colour: Rgb | None, alpha: float) -> bool:
        if alpha <= FAINT:
            return False
        if colour is None:
            return True
        for paint in reversed(self._paints):
            if holds(paint.box, letters.start) or holds(paint.box, letters.end):
                if paint.colour is None or not alike(paint.colour, colour):
                    return True
                if paint.sure and holds(paint.box, letters.start) and holds(paint.box, letters.end):
                    return False
        return not alike(WHITE, colour)

    def _picture(self, state: State, told: Mapping[str, Any], *, sure: bool) -> None:
        box = around([moved(x, y, state.ctm) for x in (0, 1) for y in (0, 1)])
        shown = common(common(box, state.clip), self.box)
        page = (self.box[2] - self.box[0]) * (self.box[3] - self.box[1])
        a, b, c, d = state.ctm[:4]
        wide, high = (float(got(told.get(long, told.get(short, 0)))) for long, short in (("/Width", "/W"), ("/Height", "/H")))
        is_fine = wide * high * 72**2 >= _LEAST_DPI**2 * abs(a * d - b * c)
        if shown[2] > shown[0] and shown[3] > shown[1] and page > 0 and is_fine:
            self._pictures += (shown[2] - shown[0]) * (shown[3] - shown[1]) / page
        is_upright = not (any(state.ctm[1:3]) and any(state.ctm[:4:3]))
        self._paint(box, state, None, state.fill_alpha, sure=sure and is_upright, is_picture=True)

    def _paint(self, box: Box, state: State, colour: Rgb | None, alpha: float, *, sure: bool, is_picture: bool = False) -> None:
        box = common(box, state.clip)
        if box[2] <= box[0] or box[3] <= box[1] or alpha <= FAINT:
            return
        for letters in self._waiting:
            letters.is_layer = False
        if self._waiting:  # nothing but these letters is painted
            return
        whole = sure and alpha >= 1 - FAINT and not state.is_blended
        self._paints.append(_Paint(box, colour if alpha >= 1 - FAINT and not state.is_blended else None, whole))
        if len(self._paints) > _MOST_PAINTS:
            least = sorted(paint.area for paint in self._paints)[_MOST_PAINTS // 4]
            self._paints = [paint for paint in self._paints if paint.area > least]
        if whole and (box[2] - box[0]) * (box[3] - box[1]) > _LEAST_COVER:
            still = []
            for letters in self._open_letters:
                if holds(box, letters.start) and holds(box, letters.end):
                    letters.is_layer, letters.is_hidden = is_picture, not is_picture
                else:
                    still.append(letters)
            self._open_letters = still


_PATHS = frozenset((b"m", b"l", b"c", b"v", b"y", b"re"))
_FILLS = frozenset((b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*"))
_ENDS_PATH = _FILLS | {b"n", b"S", b"s"}
_SHOWS = frozenset((b"Tj", b"TJ", b"'", b'"'))
_COLOURS = frozenset((b"g", b"rg", b"k", b"cs", b"sc", b"scn", b"G", b"RG", b"K", b"CS", b"SC", b"SCN"))


class _Filter:
    """Writes streams anew without the letters that are hidden."""

    def __init__(self, reader: PdfReader) -> None:
        self.reader = reader
        self.n = 0

    def kept(self, stream: _Stream) -> list[tuple[Any, bytes]]:
        from pypdf.generic import NameObject

        kept: list[tuple[Any, bytes]] = []
        for at, (operands, operator) in enumerate(stream.operations):
            for part in stream.shown.get(at, ()):
                if isinstance(part, _Letters):
                    if not part.is_hidden:
                        kept.append((operands, operator))
                    elif operator in (b"'", b'"'):
                        kept.append(([], b"T*"))
                elif not any(one.is_hidden for one in part.letters()):
                    kept.append((operands, operator))
                elif not all(one.is_hidden for one in part.letters()):
                    self.n += 1
                    name = NameObject(f"/Shown{self.n}-{len(kept)}")
                    got(got(stream.source["/Resources"])["/XObject"])[name] = self._anew(part)
                    kept.append(([name], operator))
            if at not in stream.shown:
                kept.append((operands, operator))
        return kept

    def _anew(self, form: _Stream) -> Any:
        from pypdf.generic import ContentStream

        made = ContentStream(None, self.reader)
        for key, value in form.source.items():
            if key not in ("/Length", "/Filter", "/DecodeParms"):
                made[key] = value
        made.operations = self.kept(form)
        return made


def _places(matrix: Matrix, state: State, width: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Within the first letter and within the last."""
    whole = times(matrix, state.ctm)
    inset = min(0.2 * abs(state.size), abs(width) / 2) * (-1 if width < 0 else 1)
    return moved(inset, 0.2 * state.size, whole), moved(width - inset, 0.2 * state.size, whole)


def _touches(letters: _Letters, box: Box, height: float) -> bool:
    """Whether a part of the letters may lie in the box: they are as high as a line, and their widths may be wrong."""
    box_of = around([letters.start, letters.end])
    slack = height + 0.05 * (box_of[2] - box_of[0])
    wide = (box_of[0] - slack, box_of[1] - height, box_of[2] + slack, box_of[3] + height)
    both = common(wide, box)
    return both[0] < both[2] and both[1] < both[3] and box[0] < box[2] and box[1] < box[3]
