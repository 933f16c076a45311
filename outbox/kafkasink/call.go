package kafkasink

import "github.com/leat-go/leat/outbox"

// call is one Send: its records, their results, and the keys that are held back.
type call struct {
	records []outbox.Record
	results []outbox.Result
	held    map[lane]struct{}
}

// lane is what records are ordered by.
type lane struct {
	topic, key string
}

// fail settles record i as failed, or as not sent if an earlier record of
// its key has failed, and holds its key back.
func (c *call) fail(i int, kind outbox.FailureKind, err error) {
	if c.isHeld(i) {
		c.results[i] = outbox.NotSent()
		return
	}
	c.results[i] = outbox.Failed(kind, err)
	c.hold(i)
}

// skip settles record i as not sent and holds its key back.
func (c *call) skip(i int) {
	c.results[i] = outbox.NotSent()
	c.hold(i)
}

func (c *call) hold(i int) {
	r := &c.records[i]
	if r.Key == "" {
		return
	}
	if c.held == nil {
		c.held = make(map[lane]struct{})
	}
	c.held[lane{r.Topic, r.Key}] = struct{}{}
}

func (c *call) isHeld(i int) bool {
	if len(c.held) == 0 {
		return false
	}
	r := &c.records[i]
	_, held := c.held[lane{r.Topic, r.Key}]
	return held && r.Key != ""
}
