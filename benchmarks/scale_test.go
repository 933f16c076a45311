package benchmarks

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// What the environment can say about a run.
const (
	// envQuick set to 1, or -short, asks for sizes at which every benchmark runs
	// once in a moment, for its correctness and not for its figures.
	envQuick = "BENCH_QUICK"
	// envMessages, envForwarder and envRounds override the messages of a drain, those
	// of Watermill's forwarder, and the rounds of every benchmark.
	envMessages  = "BENCH_MESSAGES"
	envForwarder = "BENCH_FORWARDER"
	envRounds    = "BENCH_ROUNDS"
	// envBacklog overrides the messages of a large backlog.
	envBacklog = "BENCH_BACKLOG"
	// envOnly names the one contender to run, for a profile of it.
	envOnly = "BENCH_ONLY"
)

// sizes says how much the benchmarks do.
type sizes struct {
	drain, drainFake      drainSize
	inbox, enqueue, sweep size
	memory                size
	latency               latencySize
	idle                  idleSize
	backlog               backlogSize
}

// size is how much a benchmark does: transactions each round, and rounds. Where
// the contenders are close, rounds are short and many: what disturbs the machine
// then disturbs both.
type size struct {
	transactions, rounds int
}

func quick() bool {
	return testing.Short() || os.Getenv(envQuick) == "1"
}

// only is the contender to run, "" for all.
func only() string {
	return os.Getenv(envOnly)
}

func scale(b *testing.B) sizes {
	b.Helper()
	s := sizes{
		drain:     drainSize{messages: 1_000_000, forwarder: 30_000, rounds: 5},
		drainFake: drainSize{messages: 300_000, forwarder: 30_000, rounds: 5},
		inbox:     size{transactions: 250, rounds: 60},
		enqueue:   size{transactions: 200, rounds: 60},
		sweep:     size{transactions: 5_000, rounds: 3},
		memory:    size{transactions: 1_000_000, rounds: 3},
		latency:   latencySize{rate: 1000, segment: 8 * time.Second, rounds: 5},
		idle:      idleSize{lasting: 20 * time.Second, rounds: 3},
		backlog:   backlogSize{small: 100_000, large: 1_000_000, times: 5, rounds: 3},
	}
	if quick() {
		s = sizes{
			drain:     drainSize{messages: 50_000, forwarder: 2_000, rounds: 1},
			drainFake: drainSize{messages: 50_000, forwarder: 2_000, rounds: 1},
			inbox:     size{transactions: 200, rounds: 5},
			enqueue:   size{transactions: 100, rounds: 5},
			sweep:     size{transactions: 200, rounds: 1},
			memory:    size{transactions: 50_000, rounds: 1},
			latency:   latencySize{rate: 200, segment: time.Second, rounds: 1},
			idle:      idleSize{lasting: 2 * time.Second, rounds: 2},
			backlog:   backlogSize{small: 5_000, large: 50_000, times: 5, rounds: 1},
		}
	}
	for _, d := range []*drainSize{&s.drain, &s.drainFake} {
		override(b, &d.messages, envMessages)
		override(b, &d.forwarder, envForwarder)
		override(b, &d.rounds, envRounds)
	}
	for _, d := range []*size{&s.inbox, &s.enqueue, &s.sweep, &s.memory} {
		override(b, &d.rounds, envRounds)
	}
	override(b, &s.latency.rounds, envRounds)
	override(b, &s.idle.rounds, envRounds)
	override(b, &s.backlog.rounds, envRounds)
	override(b, &s.backlog.large, envBacklog)
	return s
}

func override(b *testing.B, of *int, name string) {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return
	}
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		b.Fatalf("%s=%s: must be a positive number", name, text)
	}
	*of = value
}
