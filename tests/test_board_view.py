"""Every game can be looked at: as text and as a valid picture that shows each of its pieces."""

import functools
import xml.etree.ElementTree as ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgo
from jaxgo.cli import show
from jaxgo.cli.main import main
from jaxgo.core import play, position_text
from jaxgo.games import GAMES
from jaxgo.games.sliding import SlidingBlocks
from jaxgo.ui import board_shape, board_view

SVG = "{http://www.w3.org/2000/svg}"


@functools.cache
def start(name):
    return jax.jit(GAMES[name].init)(jax.random.key(0))


def test_a_board_as_text():
    game = GAMES["tictactoe"]
    state = game.place(np.array([1, 0, 2, 0, 1, 0, 0, 0, 0], np.int8), 1)
    assert board_view.text(game, state) == "3 X . O\n2 . X .\n1 . . .\n  a b c"


def test_rows_of_hexagons_lie_half_a_cell_further_right():
    game = jaxgo.make("hex5", size=3)
    state = game.place(np.array([1, 0, 2, 0, 1, 0, 0, 0, 0], np.int8), 1)
    assert board_view.text(game, state) == "1 R . B\n2  . R .\n3   . . .\n     a b c"
    places = np.array([board_shape.centre(game, cell) for cell in range(9)]).reshape(3, 3, 2)
    assert (np.diff(places, axis=0) == (20, 36)).all()
    assert (np.diff(places, axis=1) == (40, 0)).all()
    picture = ElementTree.fromstring(board_view.svg(game, state))
    width, height = int(picture.get("width")), int(picture.get("height"))
    assert (width, height) == board_shape.size(game)
    assert (places[-1, -1] + (20, 24) <= (width, height)).all()


def test_the_sides_of_hex_have_the_colours_of_who_joins_them():
    game = GAMES["hex5"]
    sides = [mark.look for mark in board_shape.board(game, [0] * 25) if mark.look["class"] == "side"]
    red, blue = (piece.colour for piece in game.pieces[1:])
    assert [side["stroke"] for side in sides] == [red, blue, red, blue]
    corners = [np.array(side["d"][1:].split(), int).reshape(-1, 2) for side in sides]
    assert [len(points) for points in corners] == [15, 10, 15, 10]
    for points, following in zip(corners, [*corners[1:], corners[0]], strict=True):
        assert (points[-1] == following[0]).all(), "clockwise, each goes on where the one before ends"
    assert (
        corners[0][:, 1].max()
        < board_shape.centre(game, 0)[1]
        < board_shape.centre(game, 24)[1]
        < corners[2][:, 1].min()
    )


def test_names_are_those_of_the_players():
    assert board_view.text(GAMES["go9"], start("go9")).splitlines()[-1] == "  A B C D E F G H J"
    assert board_view.text(GAMES["go13"], start("go13")).splitlines()[0].startswith("13 ")
    assert board_shape.names(GAMES["kono"])[0] == "a4"  # actions are not cells, but speak of squares
    assert board_shape.names(GAMES["connect4"]) == ()  # actions are columns
    assert board_shape.names(GAMES["scorefour"]) == ()  # four boards side by side


@pytest.mark.parametrize("name", sorted(GAMES))
def test_every_game_has_both_views(name):
    game, state = GAMES[name], start(name)
    codes = play.cells(game, state)
    rows = board_view.text(game, state).splitlines()
    assert len(rows) == game.picture[0] + bool(board_shape.edges(game)[0])
    picture = ElementTree.fromstring(board_view.svg(game, state, last=0))
    if game.grid == "blocks":
        assert {text.text for text in picture.iter(f"{SVG}text")} >= {game.pieces[c].label for c in codes.tolist() if c}
        return
    seats = [shape.get("class", "").split()[0] for tag in ("circle", "path") for shape in picture.iter(f"{SVG}{tag}")]
    for seat, word in board_shape.SEATS.items():
        wanted = sum(game.pieces[c].seat == seat and game.pieces[c].glyph.strip() != "" for c in codes.tolist() if c)
        assert seats.count(word) == wanted
    voids = sum(not game.pieces[c].glyph.strip() for c in codes.tolist())
    tiles = picture.iter(f"{SVG}path" if game.grid == "hexagons" else f"{SVG}rect")
    assert sum(tile.get("class").startswith(("board", "tint")) for tile in tiles) == codes.size - voids


def test_the_last_move_is_ringed():
    game = jaxgo.make("go9")
    action = game.parse_action("D4")
    picture = ElementTree.fromstring(
        board_view.svg(game, jax.jit(game.step)(start("go9"), jnp.int32(action)), last=action)
    )
    stone, ring = picture.iter(f"{SVG}circle")
    assert ring.get("class") == "last"
    assert (ring.get("cx"), ring.get("cy")) == (stone.get("cx"), stone.get("cy"))
    nothing = board_view.svg(game, start("go9"), last=game.parse_action("pass"))
    assert "<circle" not in nothing


@pytest.mark.parametrize(("point", "column", "row"), [("A9", 0, 0), ("A1", 0, 8), ("J9", 8, 0), ("C7", 2, 2)])
def test_rows_are_numbered_from_below(point, column, row):
    """The first cell is the left upper one, as in the text; a picture's y grows downwards."""
    game = jaxgo.make("go9")
    state = jax.jit(game.step)(start("go9"), jnp.int32(game.parse_action(point)))
    (stone,) = ElementTree.fromstring(board_view.svg(game, state)).iter(f"{SVG}circle")
    place = [(float(stone.get(axis)) - board_shape.EDGE) / board_shape.CELL - 0.5 for axis in ("cx", "cy")]
    assert place == [column, row]
    assert board_view.text(game, state).splitlines()[row].split()[1 + column] == "X"


def test_a_block_is_one_piece():
    """The donkey of Klotski is four cells; the part that starts at its first cell covers all of them."""
    picture = ElementTree.fromstring(board_view.svg(GAMES["klotski"], start("klotski")))
    donkey = next(shape for shape in picture.iter(f"{SVG}rect") if shape.get("class") == "zero")
    assert float(donkey.get("width")) == float(donkey.get("height")) > board_shape.CELL * 1.5


def test_labels_are_text_and_not_markup(monkeypatch):
    game = GAMES["tictactoe"]
    monkeypatch.setattr(type(game), "pieces", (game.pieces[0], game.pieces[1]._replace(label="<&>"), game.pieces[2]))
    picture = board_view.svg(game, jax.jit(game.step)(start("tictactoe"), jnp.int32(4)))
    assert "&lt;&amp;&gt;" in picture
    ElementTree.fromstring(picture)


def test_pictures_need_nothing_else():
    for name in GAMES:
        picture = board_view.svg(GAMES[name], start(name)).replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not any(word in picture for word in ("http", "href", "url(", "<script", "<image", "@import")), name


def test_star_points():
    """Five of Go 9x9 and 13x13, nine of 19x19; none on a board without a centre."""
    counts = {name: board_view.svg(GAMES[name], start(name)).count('class="star"') for name in ("go9", "go13", "go19")}
    assert counts == {"go9": 5, "go13": 5, "go19": 9}
    assert 'class="star"' not in board_view.svg(GAMES["kono"], start("kono"))


def test_the_ring_goes_around_a_label():
    game = GAMES["maharajah"]
    action = game.parse_action("a2-a4")
    state = jax.jit(game.step)(start("maharajah"), jnp.int32(action))
    picture = ElementTree.fromstring(board_view.svg(game, state, action))
    rings = [float(c.get("r")) for c in picture.iter(f"{SVG}circle") if c.get("class") == "last"]
    assert rings == [board_shape.CELL * 0.42, board_shape.CELL * 0.2]  # the pawn on a4, the empty a2


def test_the_men_of_the_first_seat_are_light_in_chess():
    """And dark in games of stones."""
    picture = ElementTree.fromstring(board_view.svg(GAMES["gardner"], start("gardner")))
    figures = [(m.get("class"), int(m.get("transform").split()[1][:-1])) for m in picture.iter(f"{SVG}path")]
    men = [(word, place) for word, place in figures if word.endswith("figure")]
    assert [word for word, _ in sorted(men, key=lambda man: man[1])] == ["zero figure"] * 10 + ["one figure"] * 10
    assert board_shape.shade(GAMES["tictactoe"], 0) == "zero" != board_shape.shade(GAMES["chess"], 0)


def test_the_ring_goes_around_a_stone_of_its_own_colour():
    """One through a red stone of Hex would be as red."""
    game = GAMES["hex5"]
    for cell, code in enumerate((1, 2)):
        ring = board_view.layers(game, [1, 2, *[0] * 23], cell)[2][0]
        assert f'r="{board_shape.CELL * 0.42:g}"' in ring, game.pieces[code]


def test_numbers_can_be_read_on_stones_of_their_own_colour():
    numbers = ElementTree.fromstring(board_view.svg(GAMES["hex5"], start("hex5"), numbers={0: 3})).iter(f"{SVG}text")
    assert [mark.get("class") for mark in numbers if mark.text == "3"] == ["name", "number"], "on an empty cell"
    state = jax.jit(GAMES["hex5"].step)(start("hex5"), jnp.int32(0))
    numbers = ElementTree.fromstring(board_view.svg(GAMES["hex5"], state, numbers={0: 3})).iter(f"{SVG}text")
    assert [mark.get("class") for mark in numbers if mark.text == "3"] == ["name", "tint-text"]


def test_columns_are_labelled_where_moves_are_columns():
    def columns(name):
        return [mark.text for mark in board_shape.labels(GAMES[name])]

    assert [text for text in columns("connect4") if text] == list("1234567")
    assert [text for text in columns("scorefour") if text] == list("abcd") * 4 + list("4321")
    assert board_view.text(GAMES["connect3d"], start("connect3d")).splitlines()[0].startswith("0     . .")


def test_text_and_picture_call_a_block_the_same():
    game, state = GAMES["slide15"], start("slide15")
    drawn = {text.text for text in ElementTree.fromstring(board_view.svg(game, state)).iter(f"{SVG}text")}
    assert set(board_view.text(game, state).split()) == drawn | {"."}


def test_rings_of_kamisado_are_told_as_in_the_text_of_a_position():
    game = GAMES["kamisado-match"]
    cells = np.array(play.cells(game, start("kamisado-match")))
    cells[0] += 16 * 2  # two rings
    assert board_view.text(game, game.place(cells, 0)).split()[1] == position_text.symbols(game)[cells[0]]
    assert len(position_text.symbols(game)[cells[0]]) == 3


def test_squares_of_kamisado_have_their_colours():
    picture = ElementTree.fromstring(board_view.svg(GAMES["kamisado"], start("kamisado")))
    colours = [shape.get("fill") for shape in picture.iter(f"{SVG}rect") if "tint" in shape.get("class")]
    assert len(colours) == 64
    assert len(set(colours)) == 8
    discs = [shape.get("fill") for shape in picture.iter(f"{SVG}circle") if shape.get("class") == "tint"]
    assert discs[8:] == colours[-8:], "each tower starts on its own colour"
    assert discs[:8] == colours[:8]


def test_names_with_the_rank_as_a_letter_label_the_other_way(monkeypatch):
    game = GAMES["tictactoe"]
    monkeypatch.setattr(type(game), "action_name", lambda self, cell: f"{'abc'[cell // 3]}{cell % 3 + 1}")
    for cached in (board_shape.names, board_shape.edges):
        cached.cache_clear()
    try:
        assert board_view.text(game, start("tictactoe")).splitlines() == ["a . . .", "b . . .", "c . . .", "  1 2 3"]
    finally:
        for cached in (board_shape.names, board_shape.edges):
            cached.cache_clear()


def test_moves_are_numbered_where_their_pieces_stand():
    game = GAMES["go5"]
    position = play.begin(game)
    assert show.numbered(game, position, ["A4", "A5", "B5"]) == {5: 1, 1: 3}, "the second stone is captured"
    assert show.numbered(GAMES["connect4"], play.begin(GAMES["connect4"]), ["4", "4"]) == {
        38: 1,
        31: 2,
    }
    blocks = SlidingBlocks("AA..", "..AA")
    assert show.numbered(blocks, play.begin(blocks), ["A-E", "A-E"]) == {3: 2}, "a block that moved on has one number"


def test_a_picture_is_written_as_png(tmp_path, capsys):
    pytest.importorskip("resvg_py")
    path = tmp_path / "board.png"
    assert main(["show", "tictactoe", "--moves", "b2,a1", "--numbers", "--png", str(path)]) == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert main(["show", "tictactoe", "--png", str(tmp_path / "board.svg")]) == 2
    assert "end it in .png" in capsys.readouterr().err
