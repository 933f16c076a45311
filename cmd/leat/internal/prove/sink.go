package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Destination is the destination of a relay, with a topic that is used for nothing else.
type Destination struct {
	// Name is the product and the address.
	Name  string
	Topic string
	Sink  driver.Sink
	// Read returns the payloads that the topic has received since Read was first called, in an order that
	// preserves the order of each key. Nil if it cannot be read.
	Read func(ctx context.Context) ([][]byte, error)
	// Look returns what it finds about the topic's settings: what breaks a promise, and what needs care. Nil
	// if the settings cannot be read.
	Look func(ctx context.Context) (broken, care []string, err error)
}

// destination is a Destination as a prover.Server.
type destination struct {
	Destination

	run   string // identifies the records of this run
	sent  int
	began bool // set when Read was called
}

// Sink tries a destination.
func Sink(d Destination) prover.Server { return &destination{Destination: d, run: prover.Unique()} }

// About implements prover.Server.
func (d *destination) About(context.Context) string { return d.Name + ", topic " + d.Topic }

// Prepare implements prover.Server.
func (*destination) Prepare(context.Context) error { return nil }

// Clean implements prover.Server. The topic belongs to its owner, and is not removed.
func (*destination) Clean(context.Context) error { return nil }

var errNoShop = errors.New("leat: a destination has no workload")

// Shop implements prover.Server.
func (*destination) Shop(context.Context) (prover.Shop, error) { return nil, errNoShop }

// Probes implements prover.Server.
func (d *destination) Probes() []prover.Probe {
	const answers, stored = "answers", "stored"
	return []prover.Probe{
		prover.NewProbe(answers, "O2", nil, "see what the sink says", d.answers),
		prover.NewProbe("topics.missing", "O2", []string{answers}, "let nothing make topics by itself: a name with a typing error would be one more topic, that nobody reads", d.topicsMissing),
		prover.NewProbe("settings", "O2", []string{answers}, "see the page of the broker, docs/brokers.md", d.settings),
		prover.NewProbe(stored, "O2 O3 O4", []string{answers}, "what is acknowledged must be there: see what stands between leat and the broker", d.stored),
		prover.NewProbe("order", "O5", []string{answers, stored}, "what has one key must stay in order: see what stands between leat and the broker", d.order),
		prover.NewProbe("contents", "O2 O6", []string{answers, stored}, "what is refused for good is set aside by relays: raise the bounds of the broker, or send less", d.contents),
	}
}

// answers runs the checks of the sink, for its destination and the topic.
func (d *destination) answers(t *prover.Trial) {
	if c, ok := d.Sink.(driver.Checker); ok {
		if err := c.Check(t.Context()); err != nil {
			fail.Now(prover.Said("Check", err))
		}
	}
	c, ok := d.Sink.(driver.TopicChecker)
	if !ok {
		return
	}
	there, err := c.CheckTopics(t.Context(), []string{d.Topic})
	fail.If(err)
	if len(there) != 1 {
		t.Broken("topic %s does not take records: create it, or allow to write", d.Topic)
	}
}

// topicsMissing checks for a topic that does not exist. It sends a record to it unless that would create
// it.
func (d *destination) topicsMissing(t *prover.Trial) {
	missing := d.Topic + "-missing-" + d.run
	c, ok := d.Sink.(driver.TopicChecker)
	if !ok {
		t.Say(prover.CouldNotTry, "the sink does not tell which topics there are")
		return
	}
	there, err := c.CheckTopics(t.Context(), []string{missing})
	fail.If(err)
	if len(there) > 0 {
		t.Limited("a topic that is not there is made when something is sent to it")
		return
	}
	r := d.record("k", "x")
	r.Topic = missing
	if err := d.send(t, []outbox.Record{r})[0]; err == nil {
		t.Broken("a record for a topic that is not there is acknowledged")
	}
}

// settings reports what the destination returns about the topic's settings.
func (d *destination) settings(t *prover.Trial) {
	if d.Look == nil {
		return
	}
	broken, care, err := d.Look(t.Context())
	fail.If(err)
	for _, text := range broken {
		t.Broken("%s", text)
	}
	for _, text := range care {
		t.Limited("%s", text)
	}
}

// record returns the next record of a key.
func (d *destination) record(key, text string) outbox.Record {
	d.sent++
	id := fmt.Sprintf("leat-prove-%s-%05d", d.run, d.sent)
	now := time.Now()
	return outbox.Record{
		Message: outbox.Message{
			ID: id, Topic: d.Topic, Key: key, Type: "leat.prove", Payload: []byte(id + " " + key + " " + text), OccurredAt: now,
			Headers: map[string]string{"run": d.run},
		},
		Seq: int64(d.sent), CreatedAt: now,
	}
}

// send sends records, and returns their results.
func (d *destination) send(t *prover.Trial, records []outbox.Record) []error {
	if d.Read != nil && !d.began {
		_, err := d.Read(t.Context())
		fail.If(err)
		d.began = true
	}
	results := d.Sink.Send(t.Context(), records)
	fail.If(t.Context().Err())
	errs := make([]error, len(records))
	for i := range records {
		if errs[i] = errors.New("leat: the sink has told nothing of the record"); i < len(results) {
			errs[i] = results[i].Err
		}
	}
	return errs
}

// arrive waits until the payloads of all records are in the topic, and returns the payloads of the topic.
func (d *destination) arrive(t *prover.Trial, records []outbox.Record) (payloads [][]byte) {
	if d.Read == nil {
		t.Say(prover.CouldNotTry, "what is sent there cannot be read back")
		return nil
	}
	t.Soon(prover.Standstill/3, func() bool {
		var err error
		payloads, err = d.Read(t.Context())
		fail.If(err)
		return len(missingOf(payloads, records)) == 0
	})
	return payloads
}

// missingOf returns the records whose payload is missing.
func missingOf(payloads [][]byte, records []outbox.Record) (missing []string) {
	there := map[string]bool{}
	for _, p := range payloads {
		there[string(p)] = true
	}
	for i := range records {
		if !there[string(records[i].Payload)] {
			missing = append(missing, records[i].ID)
		}
	}
	return missing
}

// pages returns pages as relays send them: with records of several keys in turn, and some without a key.
func (d *destination) pages(pages, size int) (all [][]outbox.Record) {
	for range pages {
		page := make([]outbox.Record, size)
		for i := range page {
			key := fmt.Sprintf("k%02d", rand.IntN(prover.Keys)) //nolint:gosec // any will do
			if i%10 == 9 {
				key = ""
			}
			page[i] = d.record(key, "of a page")
		}
		all = append(all, page)
	}
	return all
}

const provePages, provePage = 5, 100

// stored sends pages, and checks that every acknowledged record is in the topic exactly once.
func (d *destination) stored(t *prover.Trial) {
	var all []outbox.Record
	for _, page := range d.pages(provePages, provePage) {
		for i, err := range d.send(t, page) {
			if err != nil {
				t.Broken("a record is not taken: %s", err)
				return
			}
			all = append(all, page[i])
		}
	}
	payloads := d.arrive(t, all)
	if payloads == nil {
		return
	}
	if missing := missingOf(payloads, all); len(missing) > 0 {
		t.Broken("%d of %d records are not in the topic although they were acknowledged, the first is %s", len(missing), len(all), missing[0])
	}
	copies := map[string]int{}
	for _, p := range payloads {
		copies[string(p)]++
	}
	again := 0
	for i := range all {
		again += max(0, copies[string(all[i].Payload)]-1)
	}
	if again > 0 {
		t.Limited("%d records are there more than once although they were sent once: inboxes pass over them", again)
	}
}

// order checks that the records of each key arrive in the order in which they were sent.
func (d *destination) order(t *prover.Trial) {
	var all []outbox.Record
	for _, page := range d.pages(provePages, provePage) {
		for i, err := range d.send(t, page) {
			fail.If(err)
			all = append(all, page[i])
		}
	}
	payloads := d.arrive(t, all)
	last := map[string]string{}
	for _, p := range payloads {
		id, rest, _ := strings.Cut(string(p), " ")
		key, _, _ := strings.Cut(rest, " ")
		if key == "" || !strings.HasPrefix(id, "leat-prove-"+d.run) || id == last[key] { // a copy of an earlier record
			continue
		}
		if id < last[key] {
			t.Broken("of key %s, %s is behind %s", key, id, last[key])
			return
		}
		last[key] = id
	}
}

// largePayload is a size that the messages of most systems do not exceed, and that brokers accept by
// default.
const largePayload = 900_000

// contents sends unusual records.
func (d *destination) contents(t *prover.Trial) {
	for what, change := range map[string]func(r *outbox.Record){
		"with a payload of 900,000 bytes": func(r *outbox.Record) {
			r.Payload = append(r.Payload, bytes.Repeat([]byte("x"), largePayload-len(r.Payload))...)
		},
		"with bytes that are not text": func(r *outbox.Record) { r.Payload = append(r.Payload, 0, 0xff, 0xfe, '\n') },
		"with a key that is not ASCII": func(r *outbox.Record) { r.Key = "κλειδί" },
		"with a header that is not ASCII": func(r *outbox.Record) {
			r.Headers = map[string]string{"run": "überall"}
		},
		"of an event a year ago": func(r *outbox.Record) { r.OccurredAt = r.OccurredAt.AddDate(-1, 0, 0) },
	} {
		r := d.record("k", what)
		change(&r)
		if err := d.send(t, []outbox.Record{r})[0]; err != nil {
			t.Limited("a record %s is refused: %s", what, err)
			continue
		}
		if d.Read != nil && len(missingOf(d.arrive(t, []outbox.Record{r}), []outbox.Record{r})) > 0 {
			t.Broken("a record %s was acknowledged, and is not in the topic as it was sent", what)
		}
	}
}
