"""KataGo's JSON analysis protocol: what queries mean, whom numbers are for, and lines of nonsense."""

import dataclasses
import io
import json
import logging
import random
import threading

import jax
import numpy as np
import pytest

from jaxgo.core.errors import UsageError
from jaxgo.frontends import analysis_answer
from jaxgo.frontends import board as boards
from jaxgo.frontends import outlook as outlooks
from jaxgo.frontends.analysis import AnalysisEngine, positions
from jaxgo.frontends.analysis_answer import Answer
from jaxgo.frontends.analysis_query import READ, UNUSED, FieldError, parse, read
from jaxgo.frontends.go_rules import read_rules
from jaxgo.frontends.lines import read_lines
from jaxgo.frontends.outlook import HERE
from jaxgo.frontends.thinking import Thought
from jaxgo.games import make
from jaxgo.players import load_player
from jaxgo.search.analysis import Move

QUERY = {"id": "q", "moves": [], "rules": "cgos", "komi": 24.5, "boardXSize": 5, "boardYSize": 5}
WAIT = 120.0  # seconds


class Talk:
    """An engine and what it has said."""

    def __init__(self, name, player):
        self.said, self.news = [], threading.Condition()
        self.engine = AnalysisEngine(make(name), name, player, self.hear)

    def hear(self, text):
        assert text.endswith("\n")
        assert text.count("\n") == 1
        with self.news:
            self.said.append(json.loads(text))
            self.news.notify_all()

    def ask(self, line, answers=1):
        """The lines that come after a line, as many as are waited for."""
        with self.news:
            self.said.clear()
        self.engine.take(line if isinstance(line, str) else json.dumps(line))
        with self.news:
            assert self.news.wait_for(lambda: len(self.said) >= answers, WAIT), self.said
            return list(self.said)

    def query(self, **more):
        (answer,) = self.ask(QUERY | more)
        return answer


@pytest.fixture(scope="module")
def go():
    talk = Talk("go5", "uct:24,evaluator=uniform")
    yield talk
    talk.engine.close()


@pytest.fixture(scope="module")
def plain():
    """Without a search worth the name, for what hangs on none."""
    talk = Talk("tictactoe", "random")
    yield talk
    talk.engine.close()


# -- queries, without a search ---------------------------------------------------------------------------------------
def test_rules_with_a_number_that_is_too_long_are_refused():
    with pytest.raises(UsageError, match="rules are JSON"):
        read_rules("1" * 5000, ("SIMPLE", False))


def test_a_query_is_read_whole():
    told = {
        "moves": [["B", "C3"], ["w", "(0,4)"], ["B", "pass"]],
        "initialStones": [["W", "E5"]],
        "analyzeTurns": [0, 3],
        "priorities": [5, -1],
        "maxVisits": 7,
        "overrideSettings": {"maxTime": 2, "reportAnalysisWinratesAs": "white"},
        "reportDuringSearchEvery": 0.5,
        "includePolicy": True,
        "avoidMoves": [{"player": "B", "moves": ["A1", "pass"], "untilDepth": 1}],
    }
    query = read(QUERY | told | {"rules": {"ko": "SIMPLE", "suicide": True, "scoring": "TERRITORY"}}, make("go9"))
    assert (query.game.shape, query.game.komi, query.game.ko, query.game.suicide) == ((5, 5), 24.5, "simple", True)
    assert (query.moves, query.stones, query.first) == (((0, 12), (1, 20), (0, 25)), ((1, 4),), 0)
    assert (query.turns, query.priorities, query.visits, query.seconds, query.side) == (
        (0, 3),
        (5, -1),
        7,
        2.0,
        "WHITE",
    )
    assert query.only == {0: frozenset(range(25)) - {20}}
    assert [field for _, field in query.warnings] == ["rules", "avoidMoves"]
    wide = read(QUERY | {"boardXSize": 7, "boardYSize": 4}, make("go9")).game
    assert wide.shape == (4, 7)
    assert read(QUERY | {"initialStones": [["B", "A1"], ["B", "B2"]]}, make("go9")).first == 1, "a handicap"
    object_in_text = read(QUERY | {"rules": ' {"ko": "POSITIONAL", "scoring": "TERRITORY"}'}, make("go9"))
    assert object_in_text.game.ko == "positional"
    assert object_in_text.warnings == (("the rule scoring is AREA here", "rules"),)


def test_what_katrain_asks_for_is_understood():
    """The fields of a query of KaTrain 1.17; territory and per-move ownership are not to be had, and it is told so."""
    told = {
        "id": "QUERY:1",
        "rules": "japanese",
        "priority": 1,
        "analyzeTurns": [1],
        "maxVisits": 500,
        "komi": 6.5,
        "boardXSize": 19,
        "boardYSize": 19,
        "includeOwnership": True,
        "includeMovesOwnership": True,
        "includePolicy": True,
        "initialStones": [],
        "initialPlayer": "B",
        "moves": [["B", "Q16"]],
        "overrideSettings": {"reportAnalysisWinratesAs": "BLACK", "wideRootNoise": 0.04, "maxTime": 8.0},
    }
    query = read(told, make("go19"))
    assert (query.game.komi, query.visits, query.seconds, query.policy, query.ownership) == (6.5, 500, 8.0, True, True)
    assert sorted(field for _, field in query.warnings) == ["includeMovesOwnership", "overrideSettings", "rules"]


def test_a_komi_of_quarters_is_for_who_started_the_engine_with_it():
    own = make("go9", komi=6.25)
    assert read({name: told for name, told in QUERY.items() if name != "komi"}, own).game.komi == 6.25
    with pytest.raises(FieldError, match="half-integer"):
        read(QUERY | {"komi": 6.25}, own)


def test_rules_of_katago_are_taken_by_name_and_as_its_engine_tells_them():
    assert read_rules("chinese-kgs", ("simple", True)) == ("positional", False)
    told = {"ko": "SIMPLE", "scoring": "AREA", "suicide": False, "tax": "NONE", "hasButton": False}
    bonus = {"whiteHandicapBonus": "N", "friendlyPassOk": True}
    assert read_rules(json.dumps(told | bonus), ("positional", True)) == ("simple", False)
    assert read(QUERY | {"rules": told | bonus}, make("go9")).warnings == ()


def test_visits_may_stand_among_the_settings():
    settings = {"overrideSettings": {"maxVisits": 10}}
    query = read(QUERY | settings, make("go9"))
    assert (query.visits, query.warnings) == (10, ())
    assert read(QUERY | settings | {"maxVisits": 7}, make("go9")).visits == 7, "the query's own number comes first"
    with pytest.raises(FieldError) as caught:
        read(QUERY | {"overrideSettings": {"maxVisits": 0}}, make("go9"))
    assert caught.value.field == "maxVisits"


def test_a_limit_of_moves_is_kept_where_it_was_set():
    assert [read(QUERY, make("go9", move_limit=own)).game.max_plies for own in (7, 0)] == [7, 100]


WRONG = [
    ("moves", None),
    ("moves", [["B"]]),
    ("moves", [["X", "C3"]]),
    ("moves", [["B", "I3"]]),
    ("moves", [["B", "A9"]]),
    ("moves", [["B", 3]]),
    ("moves", [["B", "(5,0)"]]),
    ("initialStones", [["B", "pass"]]),
    ("initialStones", [["B", "A1"], ["W", "A1"]]),
    ("initialStones", [["B", "A1"], ["B", "A1"]]),
    ("rules", '{"ko"'),
    ("initialPlayer", "green"),
    ("rules", None),
    ("rules", {"ko": "NONE"}),
    ("rules", {"wrong": 1}),
    ("komi", 7.25),
    ("komi", "7"),
    ("komi", True),
    ("komi", 1e9),
    ("komi", 10**400),
    ("boardXSize", 20),
    ("boardYSize", 0),
    ("boardXSize", 5.0),
    ("analyzeTurns", [1]),
    ("analyzeTurns", [-1]),
    ("analyzeTurns", 0),
    ("priorities", [1, 2]),
    ("maxVisits", 0),
    ("maxVisits", 2**70),
    ("includePolicy", 1),
    ("avoidMoves", [1]),
    ("avoidMoves", [{"player": "B", "moves": "A1"}]),
    ("overrideSettings", []),
    ("overrideSettings", {"reportAnalysisWinratesAs": "ME"}),
]


@pytest.mark.parametrize(("field", "value"), WRONG)
def test_what_is_wrong_is_named_with_its_field(field, value):
    with pytest.raises(FieldError) as caught:
        read(QUERY | {field: value}, make("go5"))
    assert caught.value.field == field


@pytest.mark.parametrize("text", ["", "[]", "{", "1e999", '{"id": NaN}', "[" * 60_000, '{"id":"é', "null", '"id"'])
def test_a_line_that_is_no_object_is_refused(text):
    with pytest.raises(FieldError):
        parse(text)


# -- answers ---------------------------------------------------------------------------------------------------------
def test_a_move_that_a_search_leaves_out_has_no_prior(plain):
    query = read({"id": "a", "moves": [], "rules": "", "includePolicy": True}, plain.engine.game)
    answer = Answer(query, 0, boards.begin(plain.engine.game))
    move = Move(4, "b2", 8, 1.0, 0.0, 1.0, proven=False, best=True, wins=4.0, depth=1, variation=("b2",))
    thought = Thought(0, 0, 4, "b2", 0.0, False, [move], ("b2",), 8, 0.1, "", True)
    assert answer.told(thought, during=False)["policy"] == [0.0] * 4 + [1.0] + [0.0] * 4
    blind = dataclasses.replace(thought, moves=[dataclasses.replace(move, prior=None)])
    assert answer.told(blind, during=False)["policy"] == [round(1 / 9, 6)] * 9


@pytest.mark.slow
def test_an_answer_has_what_was_asked_for(go):
    answer = go.query(moves=[["B", "C3"]], maxVisits=40, includePolicy=True, includeOwnership=True, analysisPVLen=0)
    assert (answer["id"], answer["turnNumber"], answer["isDuringSearch"]) == ("q", 1, False)
    infos = answer["moveInfos"]
    assert [info["order"] for info in infos] == list(range(len(infos)))
    assert sum(info["visits"] for info in infos) == answer["rootInfo"]["visits"] >= 39
    assert all(info["pv"] == [info["move"]] for info in infos)
    assert answer["rootInfo"]["currentPlayer"] == "W"
    assert len(answer["policy"]) == 26
    assert answer["policy"][12] == -1
    assert sum(share for share in answer["policy"] if share >= 0) == pytest.approx(1, abs=1e-4)
    assert len(answer["ownership"]) == 25
    assert answer["ownership"][12] > 0, "it is Black's stone"


def thought_of(value, *moves):
    """A thought of somebody who looked at these moves: names, visits and values."""
    game = make("go5")
    seen = [
        Move(game.parse_action(name), name, visits, 0.5, worth, 0.25, False, not i, 0.0, 1, (name, "E1"))
        for i, (name, visits, worth) in enumerate(moves)
    ]
    return Thought(0, 1, seen[0].action, seen[0].name, value, False, seen, (), 20, 0.1, "me", True)


@pytest.mark.slow
@pytest.mark.parametrize("player", ["random", "greedy@go5-cpu"])
def test_numbers_are_for_the_side_that_was_asked_for(player):
    """Whether playouts tell the points or a net that knows them."""
    known = load_player(player, make("go5"))

    def seen(side):
        told = {
            "moves": [["B", "C3"]],
            "includeOwnership": True,
            "overrideSettings": {"reportAnalysisWinratesAs": side},
        }
        query = read(QUERY | told, make("go5"))
        answer = Answer(query, 1, positions(query)[1])
        answer.foresee(known)
        return answer.told(thought_of(0.5, ("B2", 16, 0.6), ("D4", 4, -0.2)), during=False)

    black, white, mover = (seen(side) for side in ("BLACK", "WHITE", "SIDETOMOVE"))
    assert white == mover, "White is to move"
    assert [info["winrate"] for info in white["moveInfos"]] == [0.8, 0.4]
    assert [info["pv"] for info in white["moveInfos"]] == [["B2", "E1"], ["D4", "E1"]]
    lines = zip([black["rootInfo"], *black["moveInfos"]], [white["rootInfo"], *white["moveInfos"]], strict=True)
    for one, other in lines:
        assert one["winrate"] + other["winrate"] == pytest.approx(1)
        assert one["scoreLead"] == -other["scoreLead"]
        if player == "random":  # a net's lead is its own, and the values of this thought are made up
            assert (other["scoreLead"] > 0) == (other["winrate"] > 0.5)
        assert other["lcb"] < other["winrate"] < one["lcb"] + other["winrate"] + one["winrate"]
    assert [-share for share in black["ownership"]] == white["ownership"]
    assert black["ownership"][12] > 0, "it is Black's stone"


@pytest.mark.slow
def test_who_leads_by_a_net_is_told_with_the_sign_of_the_side_that_was_asked_for():
    """Black leads in spite of komi, here and after White's move, whatever a search thinks."""
    known = load_player("greedy@go5-cpu", make("go5", komi=0.5))
    for side, sign in (("BLACK", 1), ("WHITE", -1), ("SIDETOMOVE", -1)):
        told = {"komi": 0.5, "moves": [["B", "C3"]], "overrideSettings": {"reportAnalysisWinratesAs": side}}
        query = read(QUERY | told, make("go5"))
        answer = Answer(query, 1, positions(query)[1])
        answer.foresee(known)
        said = answer.told(thought_of(0.5, ("B2", 16, 0.6)), during=False)
        assert [sign * one["scoreLead"] > 5 for one in (said["rootInfo"], *said["moveInfos"])] == [True, True]


@pytest.mark.slow
def test_a_net_is_asked_about_the_moves_that_are_told_and_once_about_each(monkeypatch):
    asked, program = [], outlooks._foreseen

    def foreseen(model, params, state, *actions):
        asked.extend(map(int, actions))
        return program(model, params, state, *actions)

    monkeypatch.setattr(outlooks, "_foreseen", foreseen)
    query = read(QUERY, make("go5"))
    answer = Answer(query, 0, positions(query)[0])
    answer.foresee(load_player("greedy@go5-cpu", make("go5")))
    assert asked == [HERE]
    thought = thought_of(0.5, ("B2", 16, 0.6), ("D4", 4, -0.2), ("E5", 0, 0.0))
    for during in (True, False):
        answer.told(thought, during)
    assert asked == [HERE, *(move.action for move in thought.moves[:2])]


@pytest.mark.slow
def test_each_turn_is_answered_the_urgent_first(go):
    answers = go.ask(
        QUERY | {"moves": [["B", "C3"], ["W", "B3"]], "analyzeTurns": [0, 1, 2], "priorities": [0, 1, 2]}, 3
    )
    assert sorted(answer["turnNumber"] for answer in answers) == [0, 1, 2]
    assert [answer["turnNumber"] for answer in answers if answer["turnNumber"] < 2] == [1, 0]


@pytest.mark.slow
def test_games_that_begin_with_stones_and_moves_out_of_turn(go):
    answer = go.query(initialStones=[["B", "B2"], ["B", "D4"]], moves=[["B", "C3"], ["B", "C4"]])
    assert answer["rootInfo"]["currentPlayer"] == "W"
    illegal = go.query(initialStones=[["B", "B2"]], moves=[["W", "B2"]])
    assert (illegal["field"], illegal["error"][:17]) == ("moves", "Illegal move 0: B")
    ended = go.query(moves=[["B", "C3"], ["W", "pass"], ["B", "pass"]], includeOwnership=True)
    assert (ended["moveInfos"], ended["rootInfo"]["winrate"], ended["rootInfo"]["scoreLead"]) == ([], 1.0, 0.5)
    assert ended["ownership"] == [1.0] * 25
    told = ended["rootInfo"]
    assert (told["scoreMean"], told["lcb"], told["utilityLcb"]) == (told["scoreLead"], told["winrate"], told["utility"])


def test_images_of_a_position_have_one_name():
    def names(*moves):
        told = {"id": "q", "rules": "", "moves": [["BW"[ply % 2], name] for ply, name in enumerate(moves)]}
        query = read(told, make("tictactoe"))
        nothing = Thought(0, 0, 0, "a1", 0.0, False, [], (), 0, 0.1, "me", True)
        root = Answer(query, len(moves), positions(query)[-1]).told(nothing, during=False)["rootInfo"]
        return root["thisHash"], root["symHash"]

    first, turned, other = names("a1", "c2"), names("a3", "b1"), names("a1", "c1")
    assert len({first[0], turned[0], other[0]}) == 3
    assert first[1] == turned[1]
    assert first[1] != other[1]
    assert names("c2", "a1")[1] != first[1], "the other colour"


def test_a_mirror_image_in_which_seats_change_is_another_position():
    """X runs upwards in Breakthrough: two steps have been made, or five."""
    game = make("breakthrough")

    def name(**pieces):
        cells = np.zeros(64, np.int8)
        for glyph, square in pieces.items():
            cells[game.parse_action(f"{square}-forward") // 3] = "-XO".index(glyph)
        return analysis_answer._image(game, boards.placed(game, cells, 0).now)

    assert name(X="c3", O="f5") != name(X="c6", O="f4")
    assert name(X="c3", O="f5") == name(X="f3", O="c5"), "left and right are alike"


@pytest.mark.slow
def test_only_the_moves_that_are_wanted_are_told(go):
    allow = {"allowMoves": [{"player": "B", "moves": ["A1", "A2"], "untilDepth": 1}]}
    for visits in (60, 1):  # with one none of them is tried
        warning, answer = go.ask(QUERY | allow | {"maxVisits": visits}, 2)
        tried = {info["move"]: info["visits"] > 0 for info in answer["moveInfos"]}
        assert (warning["field"], tried) == ("allowMoves", {"A1": visits > 1, "A2": visits > 1})


def test_actions_are_echoed(plain):
    (version,) = plain.ask({"id": "v", "action": "query_version", "more": 1})
    assert version["version"]
    assert version["more"] == 1
    assert plain.ask({"id": "m", "action": "query_models"})[0]["models"][0]["name"] == "random"
    assert plain.ask({"id": "c", "action": "clear_cache"}) == [{"id": "c", "action": "clear_cache"}]
    assert plain.ask({"id": "t", "action": "terminate"})[0]["field"] == "terminateId"
    assert plain.ask({"id": "t", "action": "dance"})[0]["field"] == "action"


def test_an_id_comes_back_as_it_was_sent(plain):
    for ascii_only in (True, False):
        told = {"id": "é 囲碁", "action": "clear_cache"}
        (line,) = read_lines(io.BytesIO(json.dumps(told, ensure_ascii=ascii_only).encode() + b"\n"))
        assert plain.ask(line) == [told], "whoever asks finds his answers by it"


def test_other_games_have_their_own_moves(plain):
    told = {"id": "a", "moves": [["B", "b2"], ["W", "a1"]], "rules": "", "analyzeTurns": [1, 2]}
    answers = plain.ask(told, 2)
    assert [(one["turnNumber"], one["rootInfo"]["currentPlayer"]) for one in answers] == [(1, "W"), (2, "B")]
    assert plain.ask(told | {"boardXSize": 4})[0]["field"] == "boardXSize"
    assert (
        "turn of b" in plain.ask(told | {"moves": [["W", "b2"]], "analyzeTurns": [0], "initialPlayer": "W"})[0]["error"]
    )
    assert plain.ask(told | {"moves": [], "analyzeTurns": [0], "initialPlayer": "W"})[0]["field"] == "initialPlayer"
    over = told | {
        "moves": [["BW"[i % 2], name] for i, name in enumerate(["a1", "a2", "b1", "b2", "c1"])],
        "analyzeTurns": [5],
    }
    (answer,) = plain.ask(over | {"includePolicy": True})
    assert (answer["moveInfos"], answer["rootInfo"]["winrate"], answer["policy"]) == ([], 1.0, [-1.0] * 9)


@pytest.mark.parametrize(("name", "good", "bad"), [("hex5", 26, 27), ("othello", 14, 7), ("gomoku", 5, 21)])
def test_games_of_one_size_are_analysed_on_boards_of_others(name, good, bad):
    told, own = {"id": "q", "rules": "", "moves": []}, make(name)
    assert read(told | {"boardXSize": good, "boardYSize": good}, own).game == dataclasses.replace(own, size=good)
    with pytest.raises(FieldError, match=f"size[ =]{bad}") as error:
        read(told | {"boardXSize": bad, "boardYSize": bad}, own)
    assert error.value.field == "boardXSize"
    with pytest.raises(FieldError, match="is square, not 6x4"):
        read(told | {"boardXSize": 6, "boardYSize": 4}, own)


def test_finished_games_of_othello_tell_by_how_many_discs():
    """White has three discs more, and the numbers are for the other side."""
    game = make("othello", size=4)
    board = boards.placed(game, np.array([1] * 6 + [2] * 9 + [0], np.int8), 0)
    told = {"id": "q", "rules": "", "moves": [], "includeOwnership": True}
    answer = Answer(read(told, game), 0, board).ended()
    root = answer["rootInfo"]
    assert (root["scoreLead"], root["scoreMean"], root["winrate"]) == (-3.0, -3.0, 0.0)
    assert answer["ownership"] == [1.0] * 6 + [-1.0] * 9 + [0.0]


def test_areas_of_finished_games_are_compiled_once(caplog):
    game, logger = make("go5"), logging.getLogger("jax")
    board, query = boards.from_text(game, "start c3 pass pass"), read(QUERY, game)
    told = Answer(query, 3, board).ended()
    logger.addHandler(caplog.handler)
    try:
        with jax.log_compiles():
            assert Answer(query, 3, board).ended() == told
    finally:
        logger.removeHandler(caplog.handler)
    assert "Compiling" not in caplog.text


@pytest.mark.slow
def test_a_long_search_reports_and_is_ended(go):
    every = {"maxVisits": 10_000_000, "reportDuringSearchEvery": 0.01, "analyzeTurns": [0, 0]}
    warning, first, *_ = go.ask(QUERY | every, 2)
    assert warning["field"] == "maxVisits"
    assert warning["warning"].startswith("the tree has room for ")
    assert first["isDuringSearch"] is True
    answers = go.ask({"id": "x", "action": "terminate", "terminateId": "q", "turnNumbers": [0]}, 3)
    with go.news:
        assert go.news.wait_for(lambda: sum(one.get("isDuringSearch") is False for one in go.said) == 2, WAIT)
        ends = [one for one in go.said if one.get("isDuringSearch") is False]
    assert {"id": "q", "isDuringSearch": False, "noResults": True, "turnNumber": 0} in ends
    assert {"id": "x", "action": "terminate", "terminateId": "q", "turnNumbers": [0]} in answers
    assert go.query(maxVisits=5)["rootInfo"]["visits"] >= 4, "the engine goes on"


# -- nonsense --------------------------------------------------------------------------------------------------------
def nonsense(draw):
    values = [None, True, 0, 1, -1, 5, 7, 2**70, 0.5, -1e300, "", "B", "b2", "chinese", "x" * 300, "\x00", "é", [], {}]
    values += [[0], [["B", "b2"]], [["B", "b2"], ["W", "b2"]], [[]], {"ko": "SIMPLE"}, {"maxTime": 0.01}, [{}]]
    told = {"id": "q", "moves": [], "maxVisits": 1} if draw.random() < 0.8 else {}
    for field in draw.sample([*READ, *UNUSED, "action", "terminateId", "turnNumbers", "other"], draw.randint(0, 3)):
        told[field] = draw.choice(values)
    text = json.dumps(told)
    if draw.random() < 0.15:
        at = draw.randrange(len(text))
        text = text[:at] + chr(draw.randint(1, 255)) + text[at + 1 :]
    return text


def fuzz(talk, count, seed):
    draw = random.Random(seed)
    for number in range(count):
        talk.engine.take(nonsense(draw))
        if number % 100 == 99:
            with talk.news:
                assert not [one for one in talk.said if "internal" in one.get("error", "")]
            talk.ask({"id": "z", "action": "terminate_all"})
    talk.engine.take(json.dumps({"id": "after", "moves": [["B", "b2"]], "maxVisits": 3}))
    with talk.news:
        assert talk.news.wait_for(lambda: any(one["id"] == "after" for one in talk.said if "id" in one), WAIT)


def test_lines_of_nonsense_do_no_harm(plain):
    fuzz(plain, 200, 1)


@pytest.mark.slow
def test_ten_thousand_lines_of_nonsense_do_no_harm_and_take_no_memory(plain, resident):
    fuzz(plain, 1000, 2)
    before = resident()
    fuzz(plain, 9000, 3)
    assert resident() - before < 50_000_000
