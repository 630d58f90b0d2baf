# gogui-regress "jaxgo gtp musketeers --agent random" musketeers.tst: a game with moves of its own
1 gogui-rules_game_id
#? [Musketeers]
2 boardsize 5
#? []
3 boardsize 9
#? [?unacceptable size]
4 komi 6.5
#? []
5 gogui-rules_legal_moves
#? [[a-e][1-5]-[a-e][1-5]( [a-e][1-5]-[a-e][1-5])*]
6 play w a5-b5
#? [?(illegal move|it is the turn of b)]
7 genmove b
#? [[a-e][1-5]-[a-e][1-5]]
8 genmove b
#? [?it is the turn of w]
9 final_score
#? [?the game is not over]
10 fixed_handicap 2
#? [?this is not a game of Go]
11 undo
#? []
12 printsgf
#? [?SGF tells of Go, .*]
