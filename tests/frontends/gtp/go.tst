# Regression test in the form of GoGui: gogui-regress "jaxgo gtp go5 --agent random" go.tst
# Answers are matched by the expressions behind "#?"; "?" in front means that the command must fail.
10 protocol_version
#? [2]
11 name
#? [jaxgo]
12 known_command genmove
#? [true]
13 known_command make_coffee
#? [false]
14 known_command
#? [false]

# the board
20 boardsize 5
#? []
21 clear_board
#? []
22 komi 24.5
#? []
23 play b c3
#? []
24 play black C3
#? [?illegal move]
25 play w pass
#? []
26 play b PASS
#? []
27 play w d4
#? []
28 final_score
#? [W\+24\.5]
29 final_status_list alive
#? [D4 C3|C3 D4|D4\nC3]
30 final_status_list dead
#? []
31 final_status_list sleeping
#? [?a status is alive, dead or seki]
32 gogui-rules_side_to_move
#? [black]
33 undo
#? []
34 undo
#? []
35 undo
#? []
36 undo
#? []
37 undo
#? [?cannot undo]

# nonsense
40 boardsize 4294967296
#? [?a size is a whole number.*]
41 boardsize 20
#? [?unacceptable size]
42 boardsize
#? [?syntax error: wrong number of arguments]
43 komi nan
#? [?komi is not a number]
44 komi inf
#? [?komi is not a number]
45 komi 1e9
#? [?komi is not a number]
46 play b i3
#? [?invalid coordinate]
47 play b z99
#? [?invalid coordinate]
48 play green c3
#? [?invalid color]
49 play b
#? [?syntax error: wrong number of arguments]
50 make_coffee
#? [?unknown command]
51 genmove
#? [?syntax error: wrong number of arguments]
52 loadsgf /nowhere/at.all
#? [?cannot load file: cannot read .*]
53 printsgf /nowhere/at.all
#? [?the name of the file ends in \.sgf]
54 time_settings 1 2 x
#? [?byo yomi stones is a whole number.*]
55 kgs-time_settings soon 3
#? [?time is none, .*]
56 time_left b -5 0
#? []
57 kata-analyze b avoid w c3 20
#? [?unknown option 'avoid', .*]
58 kata-set-rules japanese
#? [?rules are JSON, or one of .*; territory is not counted]
59 kata-set-rules {"scoring":"TERRITORY"}
#? [?scoring can only be AREA]
60 kata-get-rules
#? [\{"ko": "POSITIONAL", "suicide": false, "scoring": "AREA".*\}]

# sequences
70 gogui-play_sequence b a1 w b1 b e5
#? []
71 printsgf
#? [.*AB?.*;B\[ae\];W\[be\];B\[ea\]\)]
72 gogui-play_sequence w a2 b a1
#? [?illegal move]
73 gogui-rules_legal_moves
#? [A5 B5 .* pass]
74 gogui-play_sequence w
#? [?syntax error: colors and moves in turn]

# the same colour twice: the other one passes
80 play b d5
#? []
81 undo
#? []
82 printsgf
#? [.*;B\[ae\];W\[be\];B\[ea\]\)]
83 clear_board
#? []
84 genmove w
#? [[A-E][1-5]]
85 reg_genmove b
#? [([A-E][1-5]|pass)]
86 undo
#? []
87 gogui-rules_side_to_move
#? [black]

# handicap
90 fixed_handicap 2
#? [?invalid number of stones: .*]
91 set_free_handicap a1 b2 c3
#? []
92 gogui-rules_side_to_move
#? [white]
93 set_free_handicap a1 b2
#? [?board not empty]
94 clear_board
#? []
95 set_free_handicap a1 a1
#? [?bad vertex list]
96 place_free_handicap 3
#? [?this board takes no handicap]

# time
100 time_settings 60 10 5
#? []
101 time_left black 3 2
#? []
102 genmove b
#? [([A-E][1-5]|pass)]
103 kgs-time_settings byoyomi 10 5 3
#? []
104 kgs-time_settings none
#? []
