"""GTP: transcripts, ids, streams that end with the next line, the clock in a game, and lines of nonsense."""

import io
import queue
import random
import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from gtp_talk import Talk
from support import mostly_slow

from jaxgo.core.errors import UsageError
from jaxgo.frontends import gtp, gtp_analysis, gtp_text
from jaxgo.frontends.gtp_commands import COMMANDS
from jaxgo.frontends.lines import LONGEST, read_lines
from jaxgo.frontends.outlook import Outlook
from jaxgo.frontends.thinking import Thinking
from jaxgo.search.think import Limit

TRANSCRIPTS = sorted((Path(__file__).parent / "gtp").glob("*.tst"))
GAMES = {"go": "go5", "musketeers": "musketeers"}
WAIT = 60.0  # seconds


@pytest.fixture(scope="module")
def go():
    talk = Talk("go5")
    yield talk
    talk.engine.session.close()


@pytest.fixture(scope="module")
def searching():
    talk = Talk("go5", "uct:24,evaluator=uniform")
    yield talk
    talk.engine.session.close()


def thought(answer):
    """A search that has ended with this."""
    thinking = Thinking(0)
    end = thinking.future.set_exception if isinstance(answer, Exception) else thinking.future.set_result
    end(answer)
    return thinking


@pytest.fixture(autouse=True)
def _fresh(request):
    for name in ("go", "searching"):
        if name in request.fixturenames:
            talk = request.getfixturevalue(name)
            for line in ("clear_board", "komi 24.5", "time_settings 0 1 0"):
                assert talk.ask(line) == "="


@pytest.mark.parametrize("path", mostly_slow(TRANSCRIPTS, TRANSCRIPTS[:1]), ids=lambda path: path.stem)
def test_transcripts(path):
    talk = Talk(GAMES[path.stem])
    command = ""
    for row in path.read_text().splitlines():
        found = re.fullmatch(r"#\? \[(.*)\]", row)
        if found:
            number, want = command.split()[0], found[1]
            sign = "?" if want.startswith("?") else "="
            said = talk.ask(command)
            want = want.removeprefix("?")
            assert re.fullmatch(rf"\{sign}{number} ?(?:{want})", said, re.DOTALL), f"{command}: {said!r}"
        elif row and not row.startswith("#"):
            command = row
    talk.engine.session.close()


def test_lines_are_read_as_the_standard_says(go):
    assert go.ask("") == go.ask("   ") == go.ask("# only words") == ""
    assert go.ask("name # a comment") == "= jaxgo"
    assert go.ask("  007\tname \x01\x02") == "=007 jaxgo"
    assert go.ask("5") == "?5 unknown command"
    assert go.ask("x" * (LONGEST + 1)).startswith("? a line has at most")


def test_the_reader_of_lines_keeps_little_in_hand():
    flood = io.BytesIO(b"a" * (3 * LONGEST) + b"\nname\r\n\xff\xfe\nend")
    lines = list(read_lines(flood))
    assert [len(line) for line in lines] == [LONGEST + 2, 4, 2, 3]
    assert lines[1] == "name"


def test_every_command_that_guis_use_is_there():
    wanted = """protocol_version name version known_command list_commands quit boardsize clear_board komi play genmove
    undo time_settings time_left kgs-time_settings final_score final_status_list fixed_handicap place_free_handicap
    set_free_handicap loadsgf printsgf showboard reg_genmove lz-analyze kata-analyze kata-search_analyze
    kata-set-rules gogui-analyze_commands gogui-play_sequence"""
    assert not set(wanted.split()) - COMMANDS.keys()


def test_a_game_to_the_end_and_beyond(go):
    while not go.engine.session.board.over:
        assert go.ask(f"genmove {'bw'[go.engine.session.board.now.seat]}").startswith("= ")
    assert go.ask("genmove b") == "= pass"
    score = go.ask("final_score")
    assert re.fullmatch(r"= (0|[BW]\+\d+(\.5)?)", score)
    go.ask("clear_board")
    for line in ("play b c3", "play w pass", "play b pass"):
        assert go.ask(line) == "="
    assert go.ask("play w d3") == "="  # after two passes the game may go on
    assert go.ask("play w d2") == "="
    assert go.ask("undo") == "="
    assert go.ask("gogui-rules_side_to_move") == "= black"


@pytest.mark.slow
def test_undo_takes_back_a_pass_that_was_asked_for_after_the_end(go):
    """A referee counts that pass as a move; what it takes back must not be another one."""
    for line in ("play b c3", "play w pass", "play b pass", "reg_genmove w"):
        go.ask(line)
    assert go.ask("genmove w") == go.ask("genmove b") == "= pass"
    for left in (["C3", "pass", "pass"], ["C3", "pass", "pass"], ["C3", "pass"], ["C3"], []):
        assert go.ask("undo") == "="
        assert go.engine.session.board.moves == left
    assert go.ask("undo") == "? cannot undo"
    for line in ("clear_board", "boardsize 5", "komi 5"):
        for before in ("play b pass", "play w pass", "genmove b", line):
            go.ask(before)
        assert not go.engine.beyond, "of a game that is gone nothing is kept"


def test_a_superko_is_seen_beyond_an_inserted_pass(go):
    for line in (
        "play b b1",
        "play w c1",
        "play b a2",
        "play w d2",
        "play b b3",
        "play w c3",
        "play b c2",
        "play w b2",
    ):
        assert go.ask(line) == "="
    assert go.ask("play b c2") == "? illegal move"
    assert go.ask("play w e5") == "="
    assert go.ask("play b c2") == "="  # the board is another one


@pytest.mark.slow
def test_a_move_out_of_turn_is_searched_without_a_pass_to_answer(searching):
    """Behind a pass of Black's White, whom the komi puts ahead, would win by another one."""
    assert re.fullmatch(r"= [A-E][1-5]", searching.ask("genmove w"))


@pytest.mark.slow
def test_a_turn_that_was_taken_is_no_pass_to_end_the_game_with(go):
    for line in ("play b c3", "play b pass"):
        assert go.ask(line) == "="
    assert not go.engine.session.board.over
    assert go.ask("gogui-rules_side_to_move") == "= white"
    assert go.ask("komi 6") == "="
    assert not go.engine.session.board.over, "the same by another komi"
    assert go.ask("play w pass") == "="
    assert go.engine.session.board.over


def test_who_gave_up_can_be_played_on_with(go):
    """A referee or a GUI may go on: the answer `resign` is no move."""
    assert go.ask("play b c3") == "="
    go.engine.session.resign(1)
    assert go.ask("play w d3") == "="
    assert go.engine.session.board.moves == ["C3", "D3"]
    go.engine.session.resign(0)
    assert re.match(r"= [A-E][1-5]|= pass", go.ask("reg_genmove b"))
    assert go.ask("undo") == "="
    assert go.engine.session.board.moves == ["C3"], "the last move is taken back, as if nobody had given up"


def test_who_gives_up_out_of_turn_takes_no_turn(go, monkeypatch):
    assert go.ask("play b c3") == "="
    monkeypatch.setattr(go.engine, "resign", 0.5)
    monkeypatch.setattr(go.engine.session, "think", lambda *_, **__: thought(SimpleNamespace(value=-1.0, action=12)))
    assert go.ask("genmove b") == "= resign"
    assert go.engine.session.board.moves == ["C3"]
    assert go.ask("undo") == "="
    assert go.engine.session.board.moves == []


def test_who_gives_up_again_says_so_again(go, monkeypatch):
    monkeypatch.setattr(go.engine, "resign", 0.5)
    monkeypatch.setattr(go.engine.session, "think", lambda *_, **__: thought(SimpleNamespace(value=-1.0, action=12)))
    assert [go.ask("genmove b"), go.ask("genmove b")] == ["= resign", "= resign"]


@pytest.mark.slow  # compiles for seconds
def test_rules_and_komi_can_be_changed_in_a_game(go):
    go.ask("play b c3")
    assert go.ask("komi 0.5") == "="
    assert go.ask("final_score") == "= B+24.5"
    assert go.engine.session.board.moves == ["C3"]
    assert go.ask('kata-set-rules {"ko":"POSITIONAL","suicide":false}') == "="


@pytest.mark.slow  # compiles for seconds
def test_another_komi_keeps_the_past_behind_a_double_move(go):
    for line in ("play b c3", "play b d3", "komi 6"):
        assert go.ask(line) == "="
    written = go.ask("printsgf")
    assert written.endswith(";B[cc];W[];B[dc])")
    assert "ML[" not in written, "the engine's own limit is not the game's"
    assert go.engine.session.text == "start C3 pass D3"
    for left in (["C3"], []):
        assert go.ask("undo") == "="
        assert go.engine.session.board.moves == left
    assert go.ask("undo") == "? cannot undo"
    for line in ("play b b2", "play b c1", "play w b1", "play b a1", "play w a2", "komi 5"):  # White could take back
        assert go.ask(line) == "="
    turned = go.engine.session.board
    assert int(turned.now.position.history.size) == len(turned.actions) + 1, "superko looks at all of it"


def test_faults_of_ours_do_not_end_the_engine(go, monkeypatch):
    def fail(engine, line):
        raise ZeroDivisionError("a\n\nb")

    monkeypatch.setitem(COMMANDS, "name", fail)
    assert go.ask("3 name") == "?3 internal error: ZeroDivisionError: a b"
    assert go.ask("version").startswith("= ")


def test_a_search_that_fails_takes_no_turn(go, monkeypatch):
    assert go.ask("play b c3") == "="
    with monkeypatch.context() as patch:
        patch.setattr(go.engine.session, "think", lambda *_, **__: thought(ZeroDivisionError("no")))
        assert go.ask("genmove b") == "? internal error: ZeroDivisionError: no"
    assert go.engine.session.board.moves == ["C3"], "no pass of White before it"


# -- streams ---------------------------------------------------------------------------------------------------------
class Live:
    """An engine in a thread, fed line by line."""

    def __init__(self, engine):
        self.lines, self.engine = queue.Queue(), engine
        self.thread = threading.Thread(target=gtp.run, args=(engine, iter(self.lines.get, None)), daemon=True)
        self.thread.start()


def wait_for(condition):
    last = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.01)


@pytest.mark.slow
def test_analyses_end_with_the_next_line():
    talk = Talk("go5", "uct:24,evaluator=uniform,solver=no")
    live = Live(talk.engine)
    text = lambda: "".join(talk.said)  # noqa: E731
    live.lines.put("1 lz-analyze b 1")
    wait_for(lambda: text().count("info move") > 3)
    assert text().startswith("=1\ninfo move ")
    assert "\n\n" not in text()
    live.lines.put("2 kata-analyze w 1 maxmoves 2")
    wait_for(lambda: "=2\ninfo" in text())
    live.lines.put("3 gogui-rules_side_to_move")
    wait_for(lambda: "=3 black" in text())
    live.lines.put("# interrupt")
    live.lines.put("4 kata-search_analyze b")
    wait_for(lambda: "play " in text())
    live.lines.put("5 quit")
    live.thread.join(60)
    assert not live.thread.is_alive()
    first, second, third, fourth, fifth, nothing = text().split("\n\n")
    assert re.match(r"info move \S+ visits \d+ winrate \d+ prior \d+ order 0 pv \S+", first.split("\n")[1])
    assert all(row.count("info move") <= 2 for row in second.split("\n"))
    assert (third, fifth, nothing) == ("=3 black", "=5", "")
    assert re.search(r"\nplay \S+$", fourth)
    assert list(talk.engine.session.board.actions) == []


@pytest.mark.slow
def test_an_interrupt_ends_the_search_of_a_command_that_has_not_begun():
    talk, began = Talk("go5", "uct:24,evaluator=uniform,solver=no", seconds=WAIT), time.monotonic()
    for line in ("# interrupt", "komi 6.5", "genmove b", "# interrupt", "genmove w"):
        talk.engine.put_line(line)
    for command in ("komi", "genmove b"):
        line = talk.engine.next_line()
        assert line.startswith(command)
        assert talk.ask(line).startswith("=")
    assert time.monotonic() - began < WAIT, "its search was not ended"
    assert talk.engine.next_line() == "genmove w"
    assert not talk.engine.searching(Thinking(0)).stopped.is_set(), "it came behind the interrupt"
    talk.engine.session.close()


@pytest.mark.slow
def test_the_time_of_the_other_side_is_thought_in_and_the_tree_kept():
    talk = Talk("go5", "uct:24,evaluator=uniform,solver=no", ponders=True)
    session, asked, answers = talk.engine.session, [], []
    ponder, think = session.ponder, session.think
    session.ponder = lambda seat: asked.append(ponder(seat)) or asked[-1]
    session.think = lambda *rest, **more: answers.append(think(*rest, **more)) or answers[-1]
    live = Live(talk.engine)
    text = lambda: "".join(talk.said)  # noqa: E731
    try:
        live.lines.put("1 genmove b")
        for count in range(1, 100):  # it goes on after every line, as long as the other side is to move
            wait_for(lambda: len(asked) == count and session.state == "thinking")  # noqa: B023
            time.sleep(0.1)
            assert not asked[-1].done()
            live.lines.put(f"2{count} gogui-rules_side_to_move")
            wait_for(lambda: f"=2{count} white" in text())  # noqa: B023
            assert asked[count - 1].stopped.is_set(), "a command does not wait for a search that nobody asked for"
            expected = asked[count - 1].result(WAIT)
            if expected.moves[0].visits > 60:
                break
        wait_for(lambda: len(asked) == count + 1)
        live.lines.put(f"3 play w {expected.name}")
        live.lines.put("4 genmove b")
        wait_for(lambda: len(asked) == count + 2)
        thought = answers[-1].result(WAIT)
        assert "\n=4 " in text()
        assert thought.simulations <= 24
        kept = sum(move.visits for move in thought.moves) - thought.simulations
        assert kept > 24, "more than the search of the first move can have left"
        live.lines.put("5 undo")
    finally:
        live.lines.put("6 quit")
        live.thread.join(WAIT)
        session.close(timeout=WAIT)
    assert not live.thread.is_alive()
    assert not session._thread.is_alive()
    assert len(asked) == count + 2, "after undo it is its own turn, and after quit nobody's"
    assert all(thinking.stopped.is_set() for thinking in asked)


@pytest.mark.slow
def test_nobody_thinks_in_the_time_of_the_other_side_unless_told_to(searching):
    searching.ask("genmove b")
    searching.engine.ponder()
    assert searching.engine.session.state == "idle"


@pytest.mark.slow
def test_points_are_told_where_they_are_asked_for(searching):
    searching.ask("play b c3")
    for colour, sign in (("w", -1), ("b", 1)):
        searching.engine.put_line("name")  # the next line, which ends it
        *_, row = searching.ask(f"kata-analyze {colour} 1 ownership true").split("\n")
        assert searching.engine.next_line() == "name"
        moves, _, owned = row.partition(" ownership ")
        points = [float(word) for word in owned.split()]
        assert len(points) == 25
        assert sign * points[12] > 0, "it is Black's stone"
        pairs = re.findall(r"winrate (\S+) .*? scoreLead (\S+)", moves)
        assert pairs
        for rate, lead in pairs:
            assert (float(rate) > 0.5) == (float(lead) > 0) or float(rate) == 0.5
    searching.engine.put_line("name")
    assert "score" not in searching.ask("kata-analyze b 1"), "nobody has looked"
    assert searching.engine.next_line() == "name"


@pytest.mark.slow
def test_what_is_foreseen_for_a_move_is_on_its_clock(searching, monkeypatch):
    def slow(board, player):
        time.sleep(2.0)
        return Outlook()

    monkeypatch.setattr(gtp_analysis, "foresee", slow)
    searching.ask("time_settings 1000 0 0")
    searching.ask("kata-genmove_analyze b 100 ownership true")
    assert searching.engine.clocks[0].main <= 998


@pytest.mark.slow
@pytest.mark.parametrize("command", ["lz-genmove_analyze", "kata-genmove_analyze", "kata-search_analyze"])
def test_who_asks_for_a_move_is_told_whose_the_points_are(searching, command):
    said = searching.ask(f"{command} w 1 ownership true")
    assert re.search(r"\ninfo move .* ownership( -?\d\.\d{4}){25}\n", said)


@pytest.mark.slow
def test_what_an_analysis_cannot_tell_is_passed_over(searching):
    """What KataGo documents beside what is known here; a move that must not be searched is another thing."""
    more = ["movesOwnership", "ownershipStdev", "movesOwnershipStdev", "pvVisits", "pvEdgeVisits", "noResultValue"]
    searching.engine.put_line("name")
    assert "\ninfo move" in searching.ask(f"kata-analyze b 10 {' true '.join(more)} true")
    assert searching.engine.next_line() == "name"
    for wrong in ("movesOwnership", "allow b c3 1", "dance true"):
        assert searching.ask(f"kata-analyze b 10 {wrong}").startswith("? unknown option")


def test_generated_moves_can_be_watched(searching):
    said = searching.ask("9 kata-genmove_analyze b 1")
    assert re.fullmatch(r"=9\n(info move .*\n)*play \S+", said)
    assert len(searching.engine.session.board.actions) == 1
    assert re.fullmatch(r"= (\S+ \d+ [-+]\d\.\d+ .*\n?)+", searching.ask("jaxgo-moves"))
    rows = searching.ask("jaxgo-visits").split("\n")[1:]
    assert [len(row.split()) for row in rows] == [5] * 5


@pytest.mark.slow
def test_visits_stand_where_moves_land():
    """The moves of Connect Four are columns, and their numbers were taken for cells of the top row."""
    talk = Talk("connect4", "uct:24,evaluator=uniform")
    rows = [row.split() for row in talk.ask("jaxgo-visits").split("\n")[1:]]
    talk.engine.session.close()
    assert [len(row) for row in rows] == [7] * 6
    assert sum(float(share) for share in rows[-1]) == pytest.approx(1, abs=0.01)


def test_a_search_that_fails_after_its_first_word_names_no_move(searching, monkeypatch):
    def broken(engine, seat, plays, show, began):
        show(None)
        raise UsageError("the network gave NaN")

    monkeypatch.setattr(gtp_analysis, "_teller", lambda *words: lambda _: words[-1]("info move C3\n"))
    monkeypatch.setattr(gtp_analysis, "generate", broken)
    assert searching.ask("9 kata-genmove_analyze b 1") == "=9\ninfo move C3\n# the network gave NaN"


def test_an_empty_line_ends_an_answer_and_stands_nowhere_else():
    assert gtp_text.answer("7", True, "one\n\n two \n") == "=7 one\n two\n\n"
    assert gtp_text.answer("", False, "no") == "? no\n\n"
    assert gtp_text.answer("", True, "") == "=\n\n"
    assert gtp_text.answer("", True, "\nA B\n\nC") == "= \nA B\nC\n\n", "a board begins on a line of its own"


# -- clocks ----------------------------------------------------------------------------------------------------------
def test_a_clock_gives_a_move_no_more_than_its_own_seconds(searching):
    engine = searching.engine
    engine.seconds = 0.5
    engine.clocks[0].begin(1000.0)
    assert engine.limit(0) == Limit(seconds=0.5)
    engine.clocks[0].begin(5.0)
    assert 0.0 < engine.limit(0).seconds < 0.5
    engine.seconds = 0.0
    engine.clocks[0].begin(None)


def test_moves_are_made_at_once_when_time_is_up(searching):
    for line in ("time_settings 1 0 0", "time_left b 0 0", "time_left w 0 0"):
        assert searching.ask(line) == "="
    thought = []
    think = searching.engine.session.think
    searching.engine.session.think = lambda limit, *rest, **more: (thought.append(limit), think(limit, *rest, **more))[
        1
    ]
    assert searching.ask("genmove b").startswith("= ")
    assert thought[0].simulations == 1
    del searching.engine.session.think


# -- nonsense --------------------------------------------------------------------------------------------------------
TOKENS = """b w black white c3 A1 pass PASS e5 z9 -1 0 1 2 3 5 9 24.5 1e5 nan { } [] "ko" 999999999999999999999 é #"""
WORDS = [*TOKENS.split(), "", "\t", "\x00", '{"ko":1}']
WORDS += [name for name in COMMANDS if name not in ("quit", "lz-analyze", "kata-analyze")]
HARMLESS = ("komi", "boardsize", "kata-set-rules")  # a new value compiles: not ten thousand times


def nonsense(draw):
    words = [draw.choice(WORDS) for _ in range(draw.randint(0, 4))]
    if words and words[0] in HARMLESS:
        words = [words[0], draw.choice(["x", "", "nan", "5 5", "-3", "1e3", "{}" if words[0] == "komi" else "24,5"])]
    text = " ".join(words)
    if draw.random() < 0.2:
        text = "".join(chr(draw.randint(0, 255)) if draw.random() < 0.2 else c for c in text)
    if any(name in text for name in ("printsgf", *HARMLESS)) and text.split()[0] not in HARMLESS:
        return ""
    return text


def fuzz(talk, count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        line = nonsense(draw)
        before = talk.engine.session.board
        said = talk.ask(line)
        assert "internal error" not in said, f"{line!r}: {said}"
        if said.startswith("?"):
            assert talk.engine.session.board is before, f"{line!r} was refused and has changed the board: {said}"


@pytest.mark.slow
def test_lines_of_nonsense_do_no_harm(go):
    fuzz(go, 400, 1)
    assert go.ask("7 name") == "=7 jaxgo"


@pytest.mark.slow
def test_ten_thousand_lines_of_nonsense_do_no_harm_and_take_no_memory(go, resident):
    fuzz(go, 1000, 2)
    before = resident()
    fuzz(go, 9000, 3)
    assert resident() - before < 50_000_000
