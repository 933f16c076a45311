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
	onMySQL   = "/server=mysql"
	latency   = "Latency"
	// Debezium needs a server with another wal_level. leat is compared with it on that server.
	besideDebezium        = "DebeziumDrain"
	latencyBesideDebezium = "DebeziumLatency"
)

// All returns the gates. Their goals are what the arithmetic of docs/internals/performance.md allows.
// Gates of transactions are measured on the server that waits for the disk, as production servers do.
// Those of Debezium leave out the start of its connector.
func All() []Gate {
	gates := slices.Concat(drains(), latencies(), enqueues(), handlers(), others(), byHand())
	number := func(g Gate) int {
		n, _ := strconv.Atoi(strings.TrimPrefix(g.ID, "P")) // always a number: the ids are defined here
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
		{ID: "P2", Name: "x-raw", Aim: "drains at 0.52 of franz-go alone", Goal: 0.52, Close: true},
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
	for _, p := range []struct {
		at           string
		most, beside float64
	}{{"p50", 1, 0.5}, {"p99", 6, 1}} {
		unit := "commit-" + p.at + "-ms" // latency counts from the commit, since the time before it is the same for all
		gates = append(gates, Gate{
			ID: "P3", Name: p.at + "-ms", Goal: p.most, AtMost: true, Of: of("wake", unit),
			Aim: fmt.Sprintf("a message is in Kafka in %g ms from its commit, %s", p.most, p.at),
		}, Gate{
			ID: "P3", Name: "x-debezium," + p.at, Goal: p.beside, AtMost: true,
			Of: beside("leat", unit), To: beside("debezium", unit),
			Aim: fmt.Sprintf("at most %g of Debezium's %s, from its commit", p.beside, p.at),
		})
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
	add := func(name, aim string, n int, of, to string, goal float64) {
		g := Gate{ID: "P4", Name: name, Aim: aim, Goal: goal, Close: true}
		g.Of, g.To = enqueueRates(n, of, to)
		gates = append(gates, g)
	}
	for _, c := range []struct {
		n    int
		goal float64
	}{{1, 0.95}, {10, 0.85}, {100, 0.78}} {
		add(fmt.Sprintf("x-plain,per_tx=%d", c.n), fmt.Sprintf("Enqueue of %d at %g of a plain insert", c.n, c.goal), c.n, "leat", "plain", c.goal)
	}
	add("x-plain,queued", "queued at 0.9 of a plain insert that is queued", 1, "queued", "plain-queued", 0.9)
	add("x-none,one-trip", "the whole transaction in one round trip at 1.1 of one without a message", 1, "one-trip", "none", 1.1)
	return gates
}

func handlers() []Gate {
	var gates []Gate
	for _, c := range []struct {
		id, name, aim, benchmark, to string
		one, eight                   float64 // goals, by number of lanes
	}{
		{"P5", "x-bare", "behind the inbox at %g of bare", "InboxHandler" + durable, "bare", 0.85, 0.8},
		{"P5", "x-bare,queued", "as one pipeline at %g times bare", "InboxQueued" + durable, "bare", 1.4, 1.4},
		{"P6", "x-bare,batch", "in batches of 100 at %g of the same without an inbox", "InboxBatch" + durable + "/handler=rows", "bare-batch", 0.68, 0.68},
		{"P9", "x-bare,redis", "a claim in Redis at %g of two round trips", "RedisClaim/server=redis", "bare", 0.85, 0.85},
		{"P9", "x-bare,valkey", "a claim in Valkey, which compares and sets, at %g of two round trips", "RedisClaim/server=valkey", "bare", 0.95, 0.95},
	} {
		for _, l := range []struct {
			at   string
			goal float64
		}{{"lanes=1", c.one}, {"lanes=8", c.eight}} {
			g := Gate{ID: c.id, Name: c.name + "," + l.at, Aim: fmt.Sprintf(c.aim, l.goal) + ", " + l.at, Goal: l.goal, Close: true}
			g.Of, g.To = rates(c.benchmark+"/"+l.at, "leat", c.to)
			gates = append(gates, g)
		}
	}
	return gates
}

// others returns gates of costs. A cost is the inverse of a rate, so the ratio of the large load's cost to
// the small one's is the ratio of the small load's rate to the large one's.
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

// byHand returns gates against code that a team would write by hand.
func byHand() []Gate {
	var gates []Gate
	for _, c := range []struct {
		benchmark, unit, aim string
		one, eight           float64 // goals, by number of lanes
	}{
		{"ByHand" + durable + "/lanes=%d/per_tx=1", "tx/s", "a transaction of InTx with one message", 1.12, 1.05},
		{"ByHand" + durable + "/lanes=%d/per_tx=10", "tx/s", "a transaction of InTx with ten messages", 3, 2},
		{"InboxByHand" + durable + "/lanes=%d/sends=0", perSecond, "behind the inbox", 1, 0.95},
		{"ByHand" + onMySQL + "/lanes=%d/per_tx=1", "tx/s", "on MySQL, a transaction of InTx with one message", 0.9, 0.88},
		{"ByHand" + onMySQL + "/lanes=%d/per_tx=10", "tx/s", "on MySQL, a transaction of InTx with ten messages", 1.6, 1.6},
		{"InboxByHand" + onMySQL + "/lanes=%d/sends=0", perSecond, "on MySQL, behind the inbox", 0.75, 0.7},
	} {
		for _, at := range []struct {
			lanes int
			goal  float64
		}{{1, c.one}, {8, c.eight}} {
			benchmark := fmt.Sprintf(c.benchmark, at.lanes)
			gates = append(gates, Gate{
				ID: "P12", Name: "x-by-hand," + benchmark, Goal: at.goal, Close: true,
				Aim: fmt.Sprintf("%s at %g of the table of the usual articles, lanes=%d", c.aim, at.goal, at.lanes),
				Of:  results.Series{Benchmark: benchmark, Contender: "leat", Unit: c.unit},
				To:  results.Series{Benchmark: benchmark, Contender: "by-hand", Unit: c.unit},
			})
		}
	}
	return gates
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

// Benchmarks returns a pattern for go test's -bench that selects the benchmarks of the gates and floors.
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
