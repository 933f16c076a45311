package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/benchmarks/internal/results"
)

const (
	perSecond = "msg/s"
	onKafka   = "RelayDrain/broker=kafka"
	onKfake   = "RelayDrain/broker=kfake"
	durable   = "/server=durable"
	latency   = "Latency"
	// Debezium needs a server with another level of log, and is compared on it.
	besideDebezium        = "DebeziumDrain"
	latencyBesideDebezium = "DebeziumLatency"
)

// All returns the gates. Those of transactions are of the server that waits for the
// disk, as a server should; those of Debezium leave out the start of its connector.
func All() []Gate {
	gates := slices.Concat(drains(), latencies(), enqueues(), handlers(), others())
	number := func(g Gate) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(g.ID, "P")) // they are ours
		return n
	}
	slices.SortStableFunc(gates, func(a, b Gate) int { return cmp.Compare(number(a), number(b)) })
	return gates
}

func drains() []Gate {
	gates := []Gate{
		{ID: "P1", Name: "x-forwarder", Aim: "drains at 100 times Watermill's forwarder", Goal: 100},
		{ID: "P1", Name: "x-debezium", Aim: "drains at 4 times Debezium", Goal: 4},
		{ID: "P1", Name: "x-forwarder,broker=kfake", Aim: "drains at 25 times the forwarder in front of kfake", Goal: 25},
		{ID: "P2", Name: "x-raw", Aim: "drains at half of franz-go alone", Goal: 0.5, Close: true},
	}
	for i, s := range []struct{ benchmark, to string }{
		{onKafka, "forwarder"},
		{besideDebezium, "debezium-streaming"},
		{onKfake, "forwarder"},
		{onKafka, "raw"},
	} {
		gates[i].Of, gates[i].To = rates(s.benchmark, "leat", s.to)
	}
	return gates
}

func latencies() []Gate {
	of := func(contender, unit string) results.Series {
		return results.Series{Benchmark: latency, Contender: contender, Unit: unit}
	}
	beside := func(contender, unit string) results.Series {
		return results.Series{Benchmark: latencyBesideDebezium, Contender: contender, Unit: unit}
	}
	var gates []Gate
	for _, from := range []struct{ prefix, name, text string }{
		{"commit-", "", "from its commit"},
		{"", ",due", "from when it was due"}, // with what the commit takes and waits for, which is nobody's merit
	} {
		for _, p := range []struct {
			at   string
			goal float64
		}{{"p50", 2.5}, {"p99", 8}} {
			unit := from.prefix + p.at + "-ms"
			gates = append(gates, Gate{
				ID: "P3", Name: p.at + "-ms" + from.name, Goal: p.goal, AtMost: true, Of: of("wake", unit),
				Aim: fmt.Sprintf("a message is in Kafka in %g ms %s, %s", p.goal, from.text, p.at),
			}, Gate{
				ID: "P3", Name: "x-debezium," + p.at + from.name, Goal: 0.5, AtMost: true,
				Of: beside("leat", unit), To: beside("debezium", unit),
				Aim: fmt.Sprintf("half of Debezium's %s, %s", p.at, from.text),
			})
		}
	}
	return append(gates, []Gate{
		{
			ID: "P7", Name: "x-foreign,p99", Aim: "p99 with a foreign transaction open, at most 1.2 times that without",
			Of: of("foreign", "p99-ms"), To: of("wake", "p99-ms"), Goal: 1.2, AtMost: true, Close: true,
		},
		{ID: "P7", Name: "dead-tuples", Aim: "and no dead tuple", Of: of("", "dead-tuples"), Goal: 0, AtMost: true},
	}...)
}

func enqueues() []Gate {
	var gates []Gate
	for _, n := range []int{1, 10, 100} {
		g := Gate{
			ID: "P4", Name: fmt.Sprintf("x-plain,per_tx=%d", n), Goal: 0.95, Close: true,
			Aim: fmt.Sprintf("Enqueue of %d at 0.95 of a plain insert", n),
		}
		g.Of, g.To = enqueueRates(n, "leat", "plain")
		gates = append(gates, g)
	}
	g := Gate{ID: "P4", Name: "x-none,queued", Goal: 0.85, Close: true, Aim: "in one pipeline at 0.85 of no message at all"}
	g.Of, g.To = enqueueRates(1, "queued", "none")
	return append(gates, g)
}

func handlers() []Gate {
	var gates []Gate
	for _, lanes := range []int{1, 8} {
		at := fmt.Sprintf("lanes=%d", lanes)
		batch := map[int]float64{1: 15, 8: 7}[lanes]
		for _, c := range []struct {
			id, name, aim, benchmark string
			goal                     float64
		}{
			{"P5", "x-bare," + at, "behind the inbox at 0.85 of bare, " + at, "InboxHandler" + durable + "/" + at, 0.85},
			{"P5", "x-bare,queued," + at, "as one pipeline at 1.3 times bare, " + at, "InboxQueued" + durable + "/" + at, 1.3},
			{
				"P6", "x-bare,batch," + at, fmt.Sprintf("in batches of 100 at %g times bare, %s", batch, at),
				"InboxBatch" + durable + "/handler=rows/" + at, batch,
			},
			{"P9", "x-bare,redis," + at, "a claim in Redis at 0.85 of two round trips, " + at, "RedisClaim/" + at, 0.85},
		} {
			g := Gate{ID: c.id, Name: c.name, Aim: c.aim, Goal: c.goal, Close: true}
			g.Of, g.To = rates(c.benchmark, "leat", "bare")
			gates = append(gates, g)
		}
	}
	return gates
}

// others are of costs, which are inverse to rates: the cost of the large over that of
// the small is the rate of the small over that of the large.
func others() []Gate {
	remembered := Gate{
		ID: "P8", Name: "x-remembered", Aim: "a message where many ids are remembered, at 1.2 times the cost",
		Goal: 1.2, AtMost: true, Close: true,
	}
	remembered.Of, remembered.To = rates("InboxRemembered", "small", "large")
	backlog := Gate{
		ID: "P11", Name: "x-backlog", Aim: "a record of a large backlog at 1.1 times the cost", Goal: 1.1, AtMost: true, Close: true,
	}
	backlog.Of, backlog.To = rates("Backlog", "small", "backlog")
	return []Gate{
		remembered,
		{
			ID: "P10", Name: "RSS-MiB-over-idle", Aim: "a relay's memory over idle, 64 MiB",
			Of: results.Series{Benchmark: "Memory", Unit: "RSS-MiB-over-idle"}, Goal: 64, AtMost: true,
		},
		backlog,
	}
}

func rates(benchmark, of, to string) (a, b results.Series) {
	return results.Series{Benchmark: benchmark, Contender: of, Unit: perSecond},
		results.Series{Benchmark: benchmark, Contender: to, Unit: perSecond}
}

func enqueueRates(perTx int, of, to string) (a, b results.Series) {
	benchmark := fmt.Sprintf("Enqueue%s/per_tx=%d", durable, perTx)
	return results.Series{Benchmark: benchmark, Contender: of, Unit: "tx/s"},
		results.Series{Benchmark: benchmark, Contender: to, Unit: "tx/s"}
}

// Benchmarks returns a pattern for go test's -bench of the benchmarks that the gates
// and floors need.
func Benchmarks() string {
	var names []string
	add := func(s results.Series) {
		name := results.Top(s.Benchmark)
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, g := range All() {
		add(g.Of)
		add(g.To)
	}
	for _, f := range Floors() {
		add(f.Series)
	}
	return "^Benchmark(" + strings.Join(names, "|") + ")$"
}
