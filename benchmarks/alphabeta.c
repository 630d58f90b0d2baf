/* Alpha-beta for freestyle Gomoku on one core: the peer of jaxgo's in benchmarks/classical.py.

   The same judgement (threat scores of points by a table of lines), the same candidates and order (the likeliest moves by
   the scores of both colours), no table and no other trick. Reads the table, then positions; prints values and nodes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N 15
#define CELLS (N * N)
#define ARMS 364
#define REACH 5

static const int FIRST[6] = {0, 1, 4, 13, 40, 121};
static const int STEPS[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
static float table[2][ARMS * ARMS];
static signed char board[CELLS]; /* 0 empty, 1 black, 2 white */
static long nodes;
static int breadth;

static int arm(int row, int column, int dr, int dc) {
    int number = 0, power = 1, length = 0;
    for (int k = 1; k <= REACH; k++) {
        int r = row + k * dr, c = column + k * dc;
        if (r < 0 || c < 0 || r >= N || c >= N) break;
        number += power * board[r * N + c];
        power *= 3;
        length++;
    }
    return FIRST[length] + number;
}

static void scores(int cell, float *black, float *white) {
    int row = cell / N, column = cell % N;
    *black = *white = 0;
    for (int d = 0; d < 4; d++) {
        int at = arm(row, column, STEPS[d][0], STEPS[d][1]) * ARMS + arm(row, column, -STEPS[d][0], -STEPS[d][1]);
        *black += table[0][at];
        *white += table[1][at];
    }
}

static double judge(int mover) {
    double lead = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        if (!board[cell]) continue;
        float black, white;
        scores(cell, &black, &white);
        lead += board[cell] == 1 ? black : -white;
    }
    double value = tanh(lead / 40000.0), most = 1 - 1.0 / (1 << 20);
    value = mover == 1 ? value : -value;
    return value > most ? most : value < -most ? -most : value;
}

static int wins(int cell) {
    int row = cell / N, column = cell % N, stone = board[cell];
    for (int d = 0; d < 4; d++) {
        int run = 1;
        for (int sign = -1; sign <= 1; sign += 2)
            for (int k = 1; k < 5; k++) {
                int r = row + sign * k * STEPS[d][0], c = column + sign * k * STEPS[d][1];
                if (r < 0 || c < 0 || r >= N || c >= N || board[r * N + c] != stone) break;
                run++;
            }
        if (run >= 5) return 1;
    }
    return 0;
}

static int near(int cell) {
    int row = cell / N, column = cell % N;
    for (int r = row - 2; r <= row + 2; r++)
        for (int c = column - 2; c <= column + 2; c++)
            if (r >= 0 && c >= 0 && r < N && c < N && board[r * N + c]) return 1;
    return 0;
}

static int candidates(int *moves) {
    float best[CELLS];
    int count = 0;
    for (int cell = 0; cell < CELLS; cell++) {
        if (board[cell]) continue;
        float black, white;
        scores(cell, &black, &white);
        float weight = black + white + (near(cell) ? 50.0f : 0.01f);
        if (count == breadth && weight <= best[count - 1]) continue;
        int at = count < breadth ? count++ : count - 1;
        for (; at > 0 && best[at - 1] < weight; at--) best[at] = best[at - 1], moves[at] = moves[at - 1];
        best[at] = weight, moves[at] = cell;
    }
    return count;
}

static double search(int mover, int depth, double alpha, double beta) {
    int moves[CELLS], count = candidates(moves);
    double best = -2;
    for (int i = 0; i < count; i++) {
        double value;
        board[moves[i]] = (signed char)mover;
        nodes++;
        if (wins(moves[i])) value = 1;
        else if (depth == 1) value = -judge(3 - mover);
        else value = -search(3 - mover, depth - 1, -beta, -alpha);
        board[moves[i]] = 0;
        if (value > best) best = value;
        if (best > alpha) alpha = best;
        if (best >= beta) break;
    }
    return best;
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int depth = atoi(argv[1]), positions = atoi(argv[3]);
    breadth = atoi(argv[2]);
    if (fread(table, sizeof table, 1, stdin) != 1) return 3;
    struct timespec start, end;
    double taken = 0;
    for (int i = 0; i < positions; i++) {
        if (fread(board, sizeof board, 1, stdin) != 1) return 3;
        int stones = 0;
        for (int cell = 0; cell < CELLS; cell++) stones += board[cell] != 0;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
        double value = search(stones % 2 + 1, depth, -2, 2);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        taken += (end.tv_sec - start.tv_sec) + (end.tv_nsec - start.tv_nsec) / 1e9;
        printf("%.6f\n", value);
    }
    printf("%ld %.6f\n", nodes, taken);
    return 0;
}
