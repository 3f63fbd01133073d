"""What a PDF's page says to programs and not to its readers is taken out of it, before its text is read.

The page's operators are followed as a viewer does: colours and what was painted below, sizes, the page's edge and clips, what
is painted on top, layers that are off, letters drawn with nothing. A scan has its text in such letters below or above its
picture: there they are what a reader sees, and stay. Where nobody can decide (a soft mask, a blend mode) letters count as
hidden as long as they are at most 30% of the page. Not seen: fonts that draw other letters, pictures and patterns in the
colour of letters, notes that lie on the page, a scan whose letters say something else than its picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pipeline.reading.colours import FAINT, NEAR
from pipeline.reading.visibility import SMALL

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

Rgb = tuple[float, float, float]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points of the page."""
Matrix = tuple[float, float, float, float, float, float]

_UNIT: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
_EVERYWHERE: Box = (-1e9, -1e9, 1e9, 1e9)
_WHITE: Rgb = (1.0, 1.0, 1.0)
_BLACK: Rgb = (0.0, 0.0, 0.0)
_UNSURE = 0.3
"""Share of a page's letters up to which those count as hidden of which nobody can tell."""
_SCAN = 0.5
"""Share of a page that a picture takes where the page is a scan."""
_TINY = 0.75 * SMALL
"""Points; a pixel has three quarters of one."""
_MOST_PAINTS = 400
"""Of one page that are remembered, the largest."""
_LEAST_COVER = 4.0
"""Square points of what may cover letters."""
_MOST_FORMS, _DEEPEST = 1_000, 10
_WRONG = (TypeError, ValueError, IndexError, KeyError, AttributeError, ArithmeticError)
"""What broken operators and resources raise."""


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


@dataclass(frozen=True, slots=True)
class _Font:
    """How wide letters are, in sizes of the font, by their codes of `n_bytes`."""

    widths: Mapping[int, float]
    other: float
    n_bytes: int
    is_drawn: bool
    """Its letters are drawings of their own scale."""


@dataclass(frozen=True, slots=True)
class _State:
    """The graphics state, as far as it decides what is seen."""

    ctm: Matrix = _UNIT
    clip: Box = _EVERYWHERE
    fill: Rgb | None = _BLACK
    stroke: Rgb | None = _BLACK
    spaces: tuple[Any, Any] = (None, None)
    """The colour spaces of fill and stroke, None for a device's."""
    fill_alpha: float = 1.0
    stroke_alpha: float = 1.0
    is_blended: bool = False
    mode: int = 0
    size: float = 0.0
    font: _Font | None = None
    leading: float = 0.0
    spacing: tuple[float, float] = (0.0, 0.0)
    """Behind each letter, and behind each blank."""
    stretch: float = 1.0


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


def take_out_hidden(reader: PdfReader, page: PageObject, off: frozenset[int]) -> int:
    """How many bytes of text a page's readers do not see; they are taken out of `page`. `off` is of `layers_off`."""
    from pypdf.generic import ContentStream, NameObject

    if "/Contents" not in page:
        return 0
    content = ContentStream(page["/Contents"], reader, "bytes")
    data = content.get_data()
    stream = _Stream(content.operations, page)
    viewer = _Viewer(reader, _page_box(page), off)
    viewer.show(stream, _State())
    hidden = viewer.decide(list(stream.letters()))
    if hidden:
        content.operations = _Filter(reader).kept(stream)
    else:
        content._data = data  # else it would be written out from its operators, to be read again
    page[NameObject("/Contents")] = content
    return hidden


def layers_off(reader: PdfReader) -> frozenset[int]:
    """The numbers of the optional content groups that a viewer does not show."""
    try:
        properties = _got(_got(reader.trailer["/Root"]).get("/OCProperties"))
        if not properties:
            return frozenset()
        default = _got(properties.get("/D")) or {}
        off = set(_numbers(properties.get("/OCGs"))) if default.get("/BaseState") == "/OFF" else set()
        off = (off - set(_numbers(default.get("/ON")))) | set(_numbers(default.get("/OFF")))
        for usage in _got(default.get("/AS")) or ():
            told = _got(usage)
            if told.get("/Event") != "/View":
                continue
            for group in _got(told.get("/OCGs")) or ():
                view = _got((_got(_got(group).get("/Usage")) or {}).get("/View")) or {}
                if view.get("/ViewState") in ("/OFF", "/ON"):
                    (off.add if view["/ViewState"] == "/OFF" else off.discard)(_number(group))
        return frozenset(off)
    except _WRONG:
        return frozenset()


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
        self._fonts: dict[int, _Font | None] = {}

    def show(self, stream: _Stream, state: _State, depth: int = 0, *, is_off: bool = False) -> None:
        resources = _got(stream.source.get("/Resources")) or {}
        stack: list[_State] = []
        marks: list[bool] = []
        matrix = line = _UNIT
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
                    state = replace(state, ctm=_times(_matrix(operands), state.ctm))
                elif operator in _PATHS:
                    points = [float(operand) for operand in operands]
                    if operator == b"re":
                        x, y, width, height = points
                        points = [x, y, x + width, y, x, y + height, x + width, y + height]
                    is_straight = is_straight and operator in (b"re", b"m", b"l")
                    path += [_at(x, y, state.ctm) for x, y in zip(points[::2], points[1::2])]
                elif operator in (b"W", b"W*"):
                    is_clip = True
                elif operator in _ENDS_PATH:
                    if path:
                        box = _around(path)
                        if operator in _FILLS and not (is_off or any(marks)):
                            sure = is_straight and _is_box(path, box)
                            self._paint(box, state, state.fill, state.fill_alpha, sure=sure)
                        if is_clip:  # any other path clips at least what is outside of its box
                            state = replace(state, clip=_common(state.clip, box))
                    path, is_straight, is_clip = [], True, False
                elif operator in _COLOURS:
                    state = _coloured(state, operator, operands, resources)
                elif operator == b"gs":
                    state = _with_settings(state, _got(_got(resources["/ExtGState"])[operands[0]]))
                elif operator == b"BT":
                    matrix = line = _UNIT
                elif operator == b"Tf":
                    font = self._font((_got(resources.get("/Font")) or {}).get(operands[0]))
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
                    matrix = line = _matrix(operands)
                elif operator in (b"Td", b"TD"):
                    if operator == b"TD":
                        state = replace(state, leading=-float(operands[1]))
                    matrix = line = _times((1, 0, 0, 1, float(operands[0]), float(operands[1])), line)
                elif operator == b"T*":
                    matrix = line = _times((1, 0, 0, 1, 0, -state.leading), line)
                elif operator in _SHOWS:
                    if operator in (b"'", b'"'):
                        matrix = line = _times((1, 0, 0, 1, 0, -state.leading), line)
                    n, width = _length(operands, state)
                    letters = _Letters(n, *_places(matrix, state, width))
                    stream.shown.setdefault(at, []).append(letters)
                    self._show_letters(letters, matrix, state, is_off or any(marks))
                    matrix = _times((1, 0, 0, 1, width, 0), matrix)
                elif operator in (b"BDC", b"BMC"):
                    is_layer = operator == b"BDC" and operands[0] == "/OC"
                    marks.append(is_layer and self._is_off(_property(operands[1], resources)))
                elif operator == b"EMC":
                    del marks[-1:]
                elif operator == b"Do":
                    thing = _got(_got(resources["/XObject"])[operands[0]])
                    is_left = is_off or any(marks) or ("/OC" in thing and self._is_off(thing.raw_get("/OC")))
                    if thing.get("/Subtype") == "/Form":
                        self._show_form(stream, at, thing, state, depth, is_off=is_left)
                    elif not is_left:
                        self._picture(state, sure=not ({"/SMask", "/Mask", "/ImageMask"} & thing.keys()))
                elif operator == b"INLINE IMAGE" and not (is_off or any(marks)):
                    self._picture(state, sure=not ({"/IM", "/ImageMask"} & operands["settings"].keys()))
                elif operator == b"sh" and not (is_off or any(marks)):
                    self._paint(state.clip, state, None, state.fill_alpha, sure=False)
            except _WRONG:  # a viewer goes on behind an operator that it does not understand
                continue

    def decide(self, letters: Sequence[_Letters]) -> int:
        """Marks the letters that are hidden; their number."""
        total = sum(one.n for one in letters)
        layer = sum(one.n for one in letters if one.is_layer and not one.is_hidden)
        is_scan = self._pictures >= _SCAN and layer > (1 - _UNSURE) * total
        unsure = sum(one.n for one in letters if one.is_unsure)
        for one in letters:
            if (one.is_layer and not is_scan) or (one.is_unsure and unsure <= _UNSURE * total):
                one.is_hidden = True
        return sum(one.n for one in letters if one.is_hidden)

    def _show_form(self, stream: _Stream, at: int, form: Any, state: _State, depth: int, *, is_off: bool) -> None:
        from pypdf.generic import ContentStream

        self.n_forms += 1
        if self.n_forms > _MOST_FORMS or depth >= _DEEPEST:  # not followed, so not read either
            stream.shown.setdefault(at, []).append(_Letters(1, (0, 0), (0, 0), is_hidden=True))
            return
        inner = _Stream(ContentStream(form, self.reader, "bytes").operations, form)
        stream.shown.setdefault(at, []).append(inner)
        within = state
        if "/Matrix" in form:
            within = replace(within, ctm=_times(_matrix(_got(form["/Matrix"])), within.ctm))
        if "/BBox" in form:
            left, bottom, right, top = (float(value) for value in _got(form["/BBox"]))
            corners = [_at(x, y, within.ctm) for x in (left, right) for y in (bottom, top)]
            within = replace(within, clip=_common(within.clip, _around(corners)))
        self.show(inner, within, depth + 1, is_off=is_off)

    def _show_letters(self, letters: _Letters, matrix: Matrix, state: _State, is_off: bool) -> None:
        fills, strokes = state.mode in (0, 2, 4, 6), state.mode in (1, 2, 5, 6)
        a, b, c, d = _times(matrix, state.ctm)[:4]
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
            or not _touches(letters, _common(self.box, state.clip), height)
            or ((fills or strokes) and not seen)
        )
        if not letters.is_hidden and not letters.is_layer:
            self._open_letters.append(letters)

    def _font(self, value: Any) -> _Font | None:
        font = _got(value)
        if font is None:
            return None
        if id(font) not in self._fonts:
            self._fonts[id(font)] = _font_of(font)
        return self._fonts[id(font)]

    def _contrasts(self, letters: _Letters, colour: Rgb | None, alpha: float) -> bool:
        if alpha <= FAINT:
            return False
        if colour is None:
            return True
        for paint in reversed(self._paints):
            if _holds(paint.box, letters.start) or _holds(paint.box, letters.end):
                if paint.colour is None or not _alike(paint.colour, colour):
                    return True
                if paint.sure and _holds(paint.box, letters.start) and _holds(paint.box, letters.end):
                    return False
        return not _alike(_WHITE, colour)

    def _picture(self, state: _State, *, sure: bool) -> None:
        box = _around([_at(x, y, state.ctm) for x in (0, 1) for y in (0, 1)])
        shown = _common(_common(box, state.clip), self.box)
        page = (self.box[2] - self.box[0]) * (self.box[3] - self.box[1])
        if shown[2] > shown[0] and shown[3] > shown[1] and page > 0:
            self._pictures += (shown[2] - shown[0]) * (shown[3] - shown[1]) / page
        is_upright = not (any(state.ctm[1:3]) and any(state.ctm[:4:3]))
        self._paint(box, state, None, state.fill_alpha, sure=sure and is_upright, is_picture=True)

    def _paint(
        self, box: Box, state: _State, colour: Rgb | None, alpha: float, *, sure: bool, is_picture: bool = False
    ) -> None:
        box = _common(box, state.clip)
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
                if _holds(box, letters.start) and _holds(box, letters.end):
                    letters.is_layer, letters.is_hidden = is_picture, not is_picture
                else:
                    still.append(letters)
            self._open_letters = still

    def _is_off(self, group: Any, depth: int = 0) -> bool:
        """Whether an optional content group, or a membership in some, is not shown."""
        content = _got(group)
        if not hasattr(content, "raw_get"):
            return False
        if content.get("/Type") != "/OCMD":
            return _number(group) in self.off
        if content.get("/VE") is not None:
            return not self._holds_true(content["/VE"], depth)
        groups = content.raw_get("/OCGs") if "/OCGs" in content else None
        listed = _got(groups)
        states = [self._is_off(one) for one in ([groups] if isinstance(listed, Mapping) else listed or ()) if _got(one)]
        if not states:
            return False
        policy = content.get("/P", "/AnyOn")
        shown = {"/AllOn": not any(states), "/AnyOff": any(states), "/AllOff": all(states)}.get(policy, not all(states))
        return not shown

    def _holds_true(self, expression: Any, depth: int) -> bool:
        listed = _got(expression)
        if isinstance(listed, Mapping):
            return not self._is_off(expression, depth + 1)
        if depth > _DEEPEST:
            raise ValueError("too deep")
        values = [self._holds_true(part, depth + 1) for part in listed[1:]]
        return {"/And": all(values), "/Or": any(values)}.get(listed[0], not values[0])


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
                    _got(_got(stream.source["/Resources"])["/XObject"])[name] = self._anew(part)
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


# --- colours -----------------------------------------------------------------------------------------------------------


def _coloured(state: _State, operator: bytes, operands: Sequence[Any], resources: Any) -> _State:
    is_stroke = operator.isupper()
    name = operator.lower()
    spaces = list(state.spaces)
    if name == b"cs":
        spaces[is_stroke] = _space(operands[0], resources)
        colour = _first_colour(spaces[is_stroke])
    elif name in (b"sc", b"scn"):
        colour = _colour_in(spaces[is_stroke], operands)
    else:
        spaces[is_stroke] = None
        colour = _device_colour(operands)
    state = replace(state, spaces=(spaces[0], spaces[1]))
    return replace(state, stroke=colour) if is_stroke else replace(state, fill=colour)


def _space(name: Any, resources: Any) -> Any:
    if name in ("/DeviceGray", "/DeviceRGB", "/DeviceCMYK"):
        return None
    return _got((_got(resources.get("/ColorSpace")) or {}).get(name)) or name


def _first_colour(space: Any) -> Rgb | None:
    kind = _kind(space)
    if kind in ("/Separation", "/DeviceN"):
        n = len(_got(space[1])) if kind == "/DeviceN" else 1
        return _colour_in(space, [1.0] * n)
    return _colour_in(space, [0]) if kind == "/Indexed" else None if kind == "/Pattern" else _BLACK


def _kind(space: Any) -> str:
    return "" if space is None else str(space) if isinstance(space, str) else str(_got(space[0]))


def _colour_in(space: Any, operands: Sequence[Any], depth: int = 0) -> Rgb | None:
    """None where it is not known."""
    kind = _kind(space)
    if kind in ("", "/DeviceGray", "/DeviceRGB", "/DeviceCMYK", "/CalGray", "/CalRGB", "/ICCBased"):
        return _device_colour(operands)
    if kind in ("/Separation", "/DeviceN") and depth < 3:
        tints = [float(value) for value in operands]
        function = _got(space[3])
        if function.get("/FunctionType") == 2 and len(tints) == 1:
            start, end = (_got(function.get(key)) or default for key, default in (("/C0", [0]), ("/C1", [1])))
            share = tints[0] ** float(function.get("/N", 1))
            return _colour_in(_got(space[2]), [float(a) + share * (float(b) - float(a)) for a, b in zip(start, end)], depth + 1)
        return _WHITE if not any(tints) else None
    if kind == "/Indexed" and depth < 3:
        base, table = _got(space[1]), _got(space[3])
        content = table.get_data() if hasattr(table, "get_data") else getattr(table, "original_bytes", table)
        n = {"/DeviceGray": 1, "/CalGray": 1, "/DeviceCMYK": 4}.get(_kind(base), 3)
        if _kind(base) == "/ICCBased":
            n = int(_got(base[1]).get("/N", 3))
        at = int(operands[0]) * n
        return _colour_in(base, [byte / 255 for byte in content[at : at + n]], depth + 1)
    return None


def _device_colour(operands: Sequence[Any]) -> Rgb | None:
    values = [min(max(float(value), 0.0), 1.0) for value in operands]
    if len(values) == 1:
        return (values[0], values[0], values[0])
    if len(values) == 3:
        return (values[0], values[1], values[2])
    if len(values) == 4:
        cyan, magenta, yellow, black = values
        return ((1 - cyan) * (1 - black), (1 - magenta) * (1 - black), (1 - yellow) * (1 - black))
    return None


def _alike(one: Rgb, other: Rgb) -> bool:
    return all(abs(a - b) <= NEAR for a, b in zip(one, other, strict=True))


def _with_settings(state: _State, settings: Any) -> _State:
    if "/ca" in settings:
        state = replace(state, fill_alpha=float(settings["/ca"]))
    if "/CA" in settings:
        state = replace(state, stroke_alpha=float(settings["/CA"]))
    if "/BM" in settings or "/SMask" in settings:
        blend, mask = _got(settings.get("/BM", "/Normal")), _got(settings.get("/SMask", "/None"))
        first = blend if isinstance(blend, str) else blend[0]
        state = replace(state, is_blended=first not in ("/Normal", "/Compatible") or not isinstance(mask, str))
    if "/Font" in settings:
        state = replace(state, size=float(_got(settings["/Font"])[1]))
    return state


# --- places ------------------------------------------------------------------------------------------------------------


def _page_box(page: PageObject) -> Box:
    try:
        boxes = [tuple(float(value) for value in box) for box in (page.mediabox, page.cropbox)]
        first, second = ((min(x, right), min(y, top), max(x, right), max(y, top)) for x, y, right, top in boxes)
        return _common(first, second)
    except _WRONG:
        return _EVERYWHERE


def _matrix(operands: Sequence[Any]) -> Matrix:
    a, b, c, d, e, f = (float(value) for value in operands)
    return (a, b, c, d, e, f)


def _times(one: Matrix, other: Matrix) -> Matrix:
    a, b, c, d, e, f = one
    p, q, r, s, t, u = other
    return (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u)


def _at(x: float, y: float, matrix: Matrix) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return (a * x + c * y + e, b * x + d * y + f)


def _places(matrix: Matrix, state: _State, width: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Within the first letter and within the last."""
    whole = _times(matrix, state.ctm)
    inset = min(0.2 * abs(state.size), abs(width) / 2) * (-1 if width < 0 else 1)
    return _at(inset, 0.2 * state.size, whole), _at(width - inset, 0.2 * state.size, whole)


def _around(points: Sequence[tuple[float, float]]) -> Box:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return (min(xs), min(ys), max(xs), max(ys))


def _common(one: Box, other: Box) -> Box:
    return (max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3]))


def _is_box(path: Sequence[tuple[float, float]], box: Box) -> bool:
    """Whether straight lines between these points are the sides of their box."""
    corners = {(round(x, 2), round(y, 2)) for x in box[::2] for y in box[1::2]}
    return {(round(x, 2), round(y, 2)) for x, y in path} == corners


def _holds(box: Box, point: tuple[float, float]) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _touches(letters: _Letters, box: Box, height: float) -> bool:
    """Whether a part of the letters may lie in the box: they are as high as a line, and their widths may be wrong."""
    around = _around([letters.start, letters.end])
    slack = height + 0.05 * (around[2] - around[0])
    wide = (around[0] - slack, around[1] - height, around[2] + slack, around[3] + height)
    both = _common(wide, box)
    return both[0] < both[2] and both[1] < both[3] and box[0] < box[2] and box[1] < box[3]


# --- objects -----------------------------------------------------------------------------------------------------------


def _got(value: Any) -> Any:
    found = value.get_object() if hasattr(value, "get_object") else value
    return None if type(found).__name__ == "NullObject" else found


def _number(value: Any) -> int:
    """Of an indirect object; -1 of a direct one."""
    reference = value if hasattr(value, "idnum") else getattr(value, "indirect_reference", None)
    return -1 if reference is None else int(reference.idnum)


def _numbers(array: Any) -> list[int]:
    return [_number(value) for value in _got(array) or ()]


def _property(name: Any, resources: Any) -> Any:
    if isinstance(name, Mapping):
        return name
    listed: Any = _got(resources.get("/Properties")) or {}
    return listed.raw_get(name) if name in listed else None


def _length(operands: Sequence[Any], state: _State) -> tuple[int, float]:
    """How many bytes are shown, and how wide they are."""
    shown = operands[-1]
    font = state.font or _Font({}, 0.5, 1, False)
    n, width = 0, 0.0
    for part in shown if isinstance(shown, list) else [shown]:
        if isinstance(part, (str, bytes)):
            codes = part if isinstance(part, bytes) else part.encode("latin-1", "replace")
            n += len(codes)
            if font.n_bytes == 2:
                listed = [codes[i] << 8 | codes[i + 1] for i in range(0, len(codes) - 1, 2)]
            else:
                listed = list(codes)
            width += state.size * sum(font.widths.get(code, font.other) for code in listed) + state.spacing[0] * len(listed)
            width += state.spacing[1] * (listed.count(32) if font.n_bytes == 1 else 0)
        else:
            width -= state.size * float(part) / 1000
    return n, width * state.stretch


def _font_of(font: Any) -> _Font | None:
    try:
        kind = font.get("/Subtype")
        if kind != "/Type0":
            first = int(font.get("/FirstChar", 0))
            scale = abs(float(_got(font["/FontMatrix"])[0])) if kind == "/Type3" else 0.001
            widths = {first + i: scale * float(_got(width)) for i, width in enumerate(_got(font.get("/Widths")) or ())}
            return _Font(widths, 0.5, 1, kind == "/Type3")
        inner = _got(_got(font["/DescendantFonts"])[0])
        widths, listed = {}, [_got(value) for value in _got(inner.get("/W")) or ()]
        at = 0
        while at + 1 < len(listed):
            start, told = int(listed[at]), listed[at + 1]
            if isinstance(told, list):
                widths.update({start + i: 0.001 * float(_got(width)) for i, width in enumerate(told)})
                at += 2
            else:
                widths.update(dict.fromkeys(range(start, min(int(told), 0xFFFF) + 1), 0.001 * float(listed[at + 2])))
                at += 3
        return _Font(widths, 0.001 * float(inner.get("/DW", 1000)), 2, False)
    except _WRONG:
        return None
