"""Who plays where nobody is named: one choice for all front ends, by game, board and device."""

from collections import Counter

import jax
import pytest
from gtp_talk import Talk

from jaxgo.cli.analyse import Analyse
from jaxgo.cli.analysis import Analysis
from jaxgo.cli.gtp import Gtp
from jaxgo.cli.main import main
from jaxgo.cli.play_text import PlayText
from jaxgo.cli.show import Show
from jaxgo.cli.uci import Uci
from jaxgo.core.errors import UsageError
from jaxgo.frontends.lines import Teller, tell_player
from jaxgo.frontends.session import Session
from jaxgo.games import GAMES, make
from jaxgo.players import BEST, EASIER, best, best_spec, fitting, load_player
from jaxgo.search.think import Thinker
from jaxgo.system import weights

PLAYS = [
    ("go9", {}, "gumbel:64@go9-late-gpu"),
    ("go9", {"komi": 5.5}, "gumbel:64@go9-late-gpu"),
    ("go19", {}, "gumbel:64@go13-gpu"),  # nobody has trained there: the net reads any size
    ("go9", {"size": 11}, "gumbel:64@go13-gpu"),
    ("go9", {"size": 8}, "gumbel:64@go9-late-gpu"),
    ("connect4", {}, "gumbel:400@connect4-late-gpu"),
    ("connect4", {"width": 8}, "uct:1600"),  # the weights are for the usual board
    ("tictactoe", {"k": 2}, "uct:1600"),  # and for the usual aim
    ("gomoku", {"size": 20}, "gumbel:400,doubles=yes@gomoku15-cpu"),
    ("gomoku15", {"rules": "caro"}, "puct:5000"),  # where five stones may not be enough
    ("renju15", {}, "puct:5000"),  # its planes have forbidden points
    ("dodgem7", {}, "uct:1600"),
    ("chess", {}, "alphabeta:4000,depth=20,quiescence=6"),  # playouts of chess are long, and men can be counted
    ("gardner", {}, "alphabeta:4000,depth=20,quiescence=6"),
    ("breakthrough", {}, "gumbel:400@breakthrough-cpu"),
    ("breakthrough6", {}, "alphabeta:4000,depth=20,quiescence=6"),  # which won all of 20 games against playouts
    ("klotski", {}, "bfs:1000"),
    ("examples.own_game:Nim", {}, "uct:1600"),
]


@pytest.fixture(autouse=True)
def on_a_processor(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")


@pytest.mark.parametrize(("name", "options", "player"), PLAYS)
def test_who_plays_a_game_best(name, options, player):
    assert best_spec(make(name, **options)) == player


def test_on_an_accelerator_large_networks_think_as_long_as_small_ones(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert best_spec(make("go9")) == "gumbel:400@go9-late-gpu"
    assert best_spec(make("connect4")) == "gumbel:400@connect4-late-gpu"


def test_a_game_of_pgx_is_played_by_playouts():
    pytest.importorskip("pgx")
    assert best_spec(make("jaxgo.adapters.pgx:connect_four")) == "uct:1600", "whatever weights know of Connect Four"


def test_weights_of_one_board_have_an_order():
    boards = {name: about["game"] for name, about in weights.shipped_notes().items()}
    assert set(boards) == set(weights.shipped())
    many = {game for game, count in Counter(boards.values()).items() if count > 1}
    assert {name for name, game in boards.items() if game in many} == set(best.ORDER)


def test_a_file_that_is_unsound_plays_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "SHIPPED", tmp_path)
    (tmp_path / "go9-cpu.npz").write_bytes(b"nothing")
    assert fitting(GAMES["go9"]) == []
    assert best_spec(GAMES["go9"]) == "uct:1600"


def test_notes_of_weights_are_read_once_and_arrays_never(monkeypatch):
    offers = pytest.importorskip("jaxgo.frontends.web.offers")
    weights.shipped_notes()
    monkeypatch.setattr("zipfile.ZipFile", None)
    found = offers.find(())
    assert found.networks["go9-cpu"] == "go9"
    assert set(found.networks) == set(weights.shipped())
    assert found.players("go9", make("go9"))[0] == "gumbel:64@go9-late-gpu"


@pytest.mark.slow  # shapes of some thirty networks
def test_who_is_chosen_can_play():
    for name, game in GAMES.items():
        assert load_player(BEST, game).name == best_spec(game), name


def test_budget_and_options_change_those_of_who_plays_best():
    game = make("tictactoe")
    assert load_player("best", game).name == "gumbel:400@tictactoe-cpu"
    assert load_player("best:5,symmetric=yes", game).name == "gumbel:5,symmetric=yes@tictactoe-cpu"
    assert load_player("best,simulations=5", game).search.budget == 5, "by its long name"
    assert load_player("best:5", make("tictactoe", k=2)).name == "uct:5"
    with pytest.raises(UsageError, match="unknown search 'best'"):
        load_player("best@tictactoe-cpu", game)


def test_easier_players_think_less_and_draw_their_moves():
    game = make("tictactoe")
    assert load_player("medium", game).name == "gumbel:25,temperature=1@tictactoe-cpu"
    assert load_player("easy", game).name == "gumbel:1,temperature=3@tictactoe-cpu"
    assert load_player("easy:20,temperature=0.3", game).name == "gumbel:20,temperature=0.3@tictactoe-cpu"
    assert load_player("medium", make("kono")).asked == "medium"
    for name in ("medium", "easy"):
        assert load_player(name, make("chess")).lucky, "alpha-beta would play the same game each time"
    with pytest.raises(UsageError, match="nobody is easy to beat in a puzzle; write best, or bfs:1000"):
        load_player("easy", make("klotski"))


@pytest.mark.parametrize(
    "spec", ["alphabeta:9,temperature=1", "chain:win+alphabeta,temperature=1", "random,temperature=0.5"]
)
def test_who_weighs_no_moves_takes_no_temperature(spec):
    with pytest.raises(UsageError, match="does not weigh one move against the others"):
        load_player(spec, make("tictactoe"))


def test_all_front_ends_begin_with_that_player():
    assert {command.agent for command in (Gtp, Uci, Analysis, Show, Analyse, PlayText)} == {BEST}


@pytest.mark.parametrize(("name", "options", "player"), [play for play in PLAYS if not play[1]])
def test_the_page_seats_that_player(name, options, player):
    shared, offers = (pytest.importorskip(f"jaxgo.frontends.web.{part}") for part in ("shared", "offers"))
    on_offer = offers.Offers(dict.fromkeys(weights.shipped(), ""))
    game = make(name, **options)
    first, *others = shared.Shared(on_offer).players(name, game)
    assert first == player
    assert [spec for spec in others if spec in EASIER] == ([] if game.players == 1 else ["medium", "easy"])


def test_people_are_told_who_plays_and_programs_are_not(capsys):
    game = make("tictactoe")
    tell_player(load_player("uct:4", game))
    assert capsys.readouterr() == ("", ""), "it was named"
    tell_player(load_player("best", game))
    assert capsys.readouterr() == ("", "jaxgo: gumbel:400@tictactoe-cpu plays; --agent names another player\n")


def test_who_plays_is_told_once_and_again_where_it_is_somebody_else(capsys):
    tell, names = Teller(), []
    for options in ({}, {}, {"k": 2}):
        tell(load_player("best:2", make("tictactoe", **options)))
        names.append(capsys.readouterr().err.partition(" plays")[0])
    assert names == ["jaxgo: gumbel:2@tictactoe-cpu", "", "jaxgo: uct:2"]


@pytest.mark.slow
def test_another_board_has_its_own_best_player(capsys):
    talk = Talk("tictactoe", "best:2")
    assert capsys.readouterr().err.count("gumbel:2@tictactoe-cpu plays") == 1
    talk.engine.change(make("tictactoe", k=2), keep=False)
    talk.engine.warm_up()
    assert talk.engine.session.player_of(0).name == "uct:2"
    assert "uct:2 plays" in capsys.readouterr().err
    assert talk.ask("genmove b").startswith("= ")
    talk.engine.session.close()


@pytest.mark.slow
def test_a_player_that_was_named_goes_on_or_refuses_the_board():
    session = Session(make("tictactoe"), "tictactoe")
    session.set_player(0, "gumbel:2@tictactoe-cpu", warm=False)
    with pytest.raises(UsageError, match="do not fit the game"):
        session.check_players(make("tictactoe", width=4, k=4))
    session.check_players(make("tictactoe", k=2))
    session.close()


def test_a_player_that_nobody_named_is_called_by_its_name_where_it_cannot_do_what_is_asked_for(capsys, monkeypatch):
    monkeypatch.setattr(Thinker, "begin", None)  # it is said before the search
    assert main(["analyse", "slide8", "--agent", "best:10", "--position", ".12/453/786 0", "--line", "1-n"]) == 2
    assert "bfs:10 keeps no tree" in capsys.readouterr().err
