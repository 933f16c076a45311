package benchmarks

import (
	"flag"
	"os"
	"strconv"
	"testing"
	"time"
)

// scaleName says how much the benchmarks do.
var scaleName = flag.String("scale", scaleFull, "how much the benchmarks do: full, quick or ci")

const (
	// scaleFull is for figures that are published.
	scaleFull = "full"
	// scaleQuick is for all gates within twelve minutes. Its figures are those of the
	// full scale, with less certainty; where a gate is about an amount, it is a
	// smaller one.
	scaleQuick = "quick"
	// scaleCI runs every benchmark once in a moment, none with more than 50,000 rows,
	// for its correctness and not for its figures.
	scaleCI = "ci"
)

// What the environment can say about a run.
const (
	// envMessages, envForwarder and envRounds override the messages of a drain, those
	// of Watermill's forwarder, and the rounds of every benchmark.
	envMessages  = "BENCH_MESSAGES"
	envForwarder = "BENCH_FORWARDER"
	envRounds    = "BENCH_ROUNDS"
	// envBacklog and envRemembered override the messages of the large backlog and the
	// ids of the large inbox.
	envBacklog    = "BENCH_BACKLOG"
	envRemembered = "BENCH_REMEMBERED"
	// envRate overrides the messages a second beside Debezium.
	envRate = "BENCH_RATE"
	// envOnly names the one contender to run, for a profile of it.
	envOnly = "BENCH_ONLY"
)

// sizes says how much the benchmarks do.
type sizes struct {
	drain, drainFake      drainSize
	inbox, batch, enqueue size
	sweep, memory         size
	subscriber, redis     size
	rawSweep              size
	latency               latencySize
	idle                  idleSize
	backlog               backlogSize
	remembered            rememberedSize
	snapshot              snapshotSize
	debezium              debeziumSize
	rivals, publisher     rivalsSize
	rivalSweep            size
	dedupe                deduplicatorSize
	payloads              payloadsSize
	rates                 ratesSize
	footprint             size
	endToEnd              size
	held                  heldSize
	enqueueSQL            size
	life                  size
}

// size is how much a benchmark does: transactions each round, and rounds. Where
// the contenders are close, rounds are short and many: what disturbs the machine
// then disturbs both.
type size struct {
	transactions, rounds int
}

func fullSizes() sizes {
	return sizes{
		drain:      drainSize{messages: 1_000_000, forwarder: 100_000, rounds: 7},
		drainFake:  drainSize{messages: 300_000, forwarder: 100_000, rounds: 7},
		inbox:      size{transactions: 250, rounds: 60},
		batch:      size{transactions: 250, rounds: 15},
		enqueue:    size{transactions: 200, rounds: 60},
		sweep:      size{transactions: 5_000, rounds: 3},
		memory:     size{transactions: 1_000_000, rounds: 3},
		subscriber: size{transactions: 2_000, rounds: 3},
		redis:      size{transactions: 2_000, rounds: 60},
		rawSweep:   size{transactions: 1_000_000, rounds: 5},
		latency:    latencySize{rate: 1000, segment: 8 * time.Second, rounds: 7},
		idle:       idleSize{lasting: 20 * time.Second, rounds: 3},
		backlog:    backlogSize{small: 100_000, large: 10_000_000, times: 100, rounds: 7},
		remembered: rememberedSize{small: 100_000, large: 20_000_000, deliveries: 250, rounds: 60},
		snapshot:   snapshotSize{versions: 20_000, probe: 200},
		debezium: debeziumSize{
			messages: 500_000, rounds: 5, latency: latencySize{rate: 1000, segment: 8 * time.Second, rounds: 5},
			sweep: size{transactions: 200_000, rounds: 3},
		},
		rivals:     rivalsSize{fast: 300_000, concurrent: 100_000, serial: 20_000, rounds: 7},
		publisher:  rivalsSize{fast: 300_000, concurrent: 100_000, serial: 20_000, rounds: 7},
		rivalSweep: size{transactions: 50_000, rounds: 3},
		payloads:   payloadsSize{most: 200_000, bytes: 200_000_000, rounds: 7},
		rates:      ratesSize{rates: []int{100, 1_000, 5_000}, segment: 5 * time.Second, rounds: 3},
		footprint:  size{transactions: 20_000, rounds: 3},
		endToEnd:   size{transactions: 10_000, rounds: 7},
		held:       heldSize{rate: 500, before: 3, lasting: 10, after: 3, rounds: 3},
		enqueueSQL: size{transactions: 200, rounds: 21},
		life:       size{transactions: 100_000, rounds: 3},
		dedupe:     deduplicatorSize{messages: 5_000, kept: 1_000_000, rounds: 21},
	}
}

func quickSizes() sizes {
	return sizes{
		drain:      drainSize{messages: 400_000, forwarder: 30_000, rounds: 7},
		drainFake:  drainSize{messages: 300_000, forwarder: 30_000, rounds: 7},
		inbox:      size{transactions: 250, rounds: 21},
		batch:      size{transactions: 250, rounds: 7},
		enqueue:    size{transactions: 100, rounds: 21},
		sweep:      size{transactions: 1_000, rounds: 1},
		memory:     size{transactions: 500_000, rounds: 2},
		subscriber: size{transactions: 800, rounds: 1},
		redis:      size{transactions: 1_000, rounds: 21},
		rawSweep:   size{transactions: 400_000, rounds: 3},
		latency:    latencySize{rate: 1000, segment: 4 * time.Second, rounds: 7},
		idle:       idleSize{lasting: 5 * time.Second, rounds: 2},
		backlog:    backlogSize{small: 100_000, large: 1_000_000, times: 10, rounds: 7},
		remembered: rememberedSize{small: 100_000, large: 2_000_000, deliveries: 250, rounds: 21},
		snapshot:   snapshotSize{versions: 5_000, probe: 100},
		debezium: debeziumSize{
			messages: 200_000, rounds: 3, latency: latencySize{rate: 1000, segment: 4 * time.Second, rounds: 3},
			sweep: size{transactions: 100_000, rounds: 1},
		},
		rivals:     rivalsSize{fast: 100_000, concurrent: 30_000, serial: 5_000, rounds: 3},
		publisher:  rivalsSize{fast: 100_000, concurrent: 30_000, serial: 5_000, rounds: 3},
		rivalSweep: size{transactions: 10_000, rounds: 1},
		payloads:   payloadsSize{most: 50_000, bytes: 50_000_000, rounds: 3},
		rates:      ratesSize{rates: []int{100, 1_000, 5_000}, segment: 2 * time.Second, rounds: 1},
		footprint:  size{transactions: 5_000, rounds: 1},
		endToEnd:   size{transactions: 3_000, rounds: 1},
		held:       heldSize{rate: 500, before: 2, lasting: 5, after: 2, rounds: 1},
		enqueueSQL: size{transactions: 100, rounds: 7},
		life:       size{transactions: 10_000, rounds: 1},
		dedupe:     deduplicatorSize{messages: 5_000, kept: 200_000, rounds: 7},
	}
}

func ciSizes() sizes {
	return sizes{
		drain:      drainSize{messages: 50_000, forwarder: 2_000, rounds: 1},
		drainFake:  drainSize{messages: 50_000, forwarder: 2_000, rounds: 1},
		inbox:      size{transactions: 100, rounds: 2},
		batch:      size{transactions: 100, rounds: 1},
		enqueue:    size{transactions: 50, rounds: 2},
		sweep:      size{transactions: 200, rounds: 1},
		memory:     size{transactions: 50_000, rounds: 1},
		subscriber: size{transactions: 400, rounds: 1},
		redis:      size{transactions: 200, rounds: 2},
		rawSweep:   size{transactions: 20_000, rounds: 1},
		latency:    latencySize{rate: 200, segment: time.Second, rounds: 1},
		idle:       idleSize{lasting: 2 * time.Second, rounds: 1},
		backlog:    backlogSize{small: 5_000, large: 50_000, times: 10, rounds: 1},
		remembered: rememberedSize{small: 2_000, large: 20_000, deliveries: 100, rounds: 2},
		snapshot:   snapshotSize{versions: 500, probe: 50},
		debezium: debeziumSize{
			messages: 5_000, rounds: 1, latency: latencySize{rate: 200, segment: time.Second, rounds: 1},
			sweep: size{transactions: 2_000, rounds: 1},
		},
		rivals:     rivalsSize{fast: 1_000, concurrent: 1_000, serial: 300, rounds: 1},
		publisher:  rivalsSize{fast: 10_000, concurrent: 1_000, serial: 300, rounds: 1},
		rivalSweep: size{transactions: 500, rounds: 1},
		dedupe:     deduplicatorSize{messages: 2_000, kept: 20_000, rounds: 1},
		payloads:   payloadsSize{most: 2_000, bytes: 5_000_000, rounds: 1},
		rates:      ratesSize{rates: []int{50, 100, 200}, segment: time.Second, rounds: 1},
		footprint:  size{transactions: 500, rounds: 1},
		endToEnd:   size{transactions: 300, rounds: 1},
		held:       heldSize{rate: 100, before: 2, lasting: 2, after: 1, rounds: 1},
		enqueueSQL: size{transactions: 50, rounds: 2},
		life:       size{transactions: 200, rounds: 1},
	}
}

// only is the contender to run, "" for all.
func only() string {
	return os.Getenv(envOnly)
}

// scale returns the sizes of the flag -scale, with what the environment overrides.
func scale(b *testing.B) sizes {
	b.Helper()
	var s sizes
	switch *scaleName {
	case scaleFull:
		s = fullSizes()
	case scaleQuick:
		s = quickSizes()
	case scaleCI:
		s = ciSizes()
	default:
		b.Fatalf("-scale=%s: must be full, quick or ci", *scaleName)
	}
	for _, rounds := range []*int{
		&s.drain.rounds, &s.drainFake.rounds, &s.inbox.rounds, &s.batch.rounds, &s.enqueue.rounds, &s.sweep.rounds,
		&s.memory.rounds, &s.subscriber.rounds, &s.redis.rounds, &s.rawSweep.rounds, &s.latency.rounds, &s.idle.rounds,
		&s.backlog.rounds, &s.remembered.rounds, &s.debezium.rounds, &s.debezium.latency.rounds,
		&s.debezium.sweep.rounds, &s.rivals.rounds, &s.publisher.rounds, &s.rivalSweep.rounds, &s.dedupe.rounds,
		&s.payloads.rounds,
		&s.rates.rounds,
		&s.footprint.rounds,
		&s.endToEnd.rounds,
		&s.held.rounds,
		&s.enqueueSQL.rounds,
		&s.life.rounds,
	} {
		override(b, rounds, envRounds)
	}
	for _, d := range []*drainSize{&s.drain, &s.drainFake} {
		override(b, &d.messages, envMessages)
		override(b, &d.forwarder, envForwarder)
	}
	override(b, &s.debezium.messages, envMessages)
	override(b, &s.debezium.latency.rate, envRate)
	override(b, &s.backlog.large, envBacklog)
	override(b, &s.remembered.large, envRemembered)
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
