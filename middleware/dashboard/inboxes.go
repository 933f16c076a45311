package dashboard

import (
	"errors"
	"maps"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// inboxRow is an inbox, with its figures and its retention.
type inboxRow struct {
	Inbox     string                `json:"inbox"`
	Consumers list[consumerRow]     `json:"consumers"`
	Failures  list[inboxFailureRow] `json:"failures"`
	Retention *retentionRow         `json:"retention,omitempty"`
}

type consumerRow struct {
	Name         string    `json:"name"`
	Since        time.Time `json:"since,omitzero"`
	Remembered   int64     `json:"remembered"`
	Estimated    bool      `json:"estimated,omitempty"`
	Partitions   int64     `json:"partitions"`
	Parked       int64     `json:"parked"`
	Redriving    int64     `json:"redriving"`
	Waiting      int64     `json:"waiting"`
	Failing      int64     `json:"failing"`
	LastActivity time.Time `json:"last_activity,omitzero"`
}

type inboxFailureRow struct {
	Consumer    string    `json:"consumer"`
	Topic       string    `json:"topic"`
	Fingerprint string    `json:"fingerprint"`
	Example     string    `json:"example"`
	Count       int64     `json:"count"`
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
}

type retentionRow struct {
	Mode     string      `json:"mode"`
	Floor    time.Time   `json:"floor,omitzero"`
	Kept     float64     `json:"kept_seconds,omitempty"`
	Width    float64     `json:"width_seconds,omitempty"`
	NextDrop time.Time   `json:"next_drop,omitzero"`
	Ranges   []inboxSpan `json:"ranges"`
}

type inboxSpan struct {
	Name     string    `json:"name"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	Bytes    int64     `json:"bytes"`
	Estimate int64     `json:"estimate"`
}

func attemptErrors(h driver.History) []failureRow {
	rows := []failureRow{}
	for _, e := range h.Errors {
		rows = append(rows, failureRow{At: e.At, Error: e.Error})
	}
	return rows
}

// inboxes answers with the consumers of an inbox, and why messages wait.
func (c *call) inboxes() (inboxRow, error) {
	q := inboxadmin.ConsumersQuery{After: c.q.text("after"), Limit: c.q.limit()}
	name, in, err := c.inbox()
	if err == nil {
		err = c.q.done()
	}
	if err != nil {
		return inboxRow{}, err
	}
	row := inboxRow{Inbox: name}
	row.Consumers, err = paging[inboxadmin.Consumer, consumerRow, string]{
		limit: q.Limit, after: q.After, text: asIs,
		ask: func(after string, n int) ([]inboxadmin.Consumer, error) {
			q.After, q.Limit = after, n
			return in.Consumers(c.ctx(), q)
		},
		convert: func(x inboxadmin.Consumer) consumerRow { return consumerRow(x) },
		cursor:  func(x inboxadmin.Consumer) string { return x.Name },
	}.list(c)
	if err != nil {
		return row, err
	}
	failures, err := in.Failures(c.ctx(), inboxadmin.FailuresQuery{})
	if err != nil {
		return row, err
	}
	row.Failures = listOf(c, failures, 0, func(f inboxadmin.FailureGroup) inboxFailureRow { return inboxFailureRow(f) }, nil)
	if retainer, ok := in.(inboxadmin.Retainer); ok {
		r, err := retainer.Retention(c.ctx())
		if err != nil {
			return row, err
		}
		row.Retention = retentionOf(c, r)
	}
	return row, nil
}

// asIs returns a text as a parameter.
func asIs(text string) string { return text }

func retentionOf(c *call, r inboxadmin.Retention) *retentionRow {
	row := &retentionRow{
		Mode: string(r.Mode), Floor: r.Floor, Kept: r.Kept.Seconds(), Width: r.Width.Seconds(), NextDrop: r.NextDrop,
	}
	row.Ranges = listOf(c, r.Ranges, len(r.Ranges)+1, func(s inboxadmin.RetentionRange) inboxSpan { return inboxSpan(s) }, nil).Items
	return row
}

// inboxMessageRow is a parked message of an inbox.
type inboxMessageRow struct {
	No       int64             `json:"no"`
	Consumer string            `json:"consumer"`
	State    string            `json:"state"`
	ID       string            `json:"id"`
	Topic    string            `json:"topic"`
	Key      string            `json:"key"`
	Bytes    int               `json:"bytes"`
	Attempts int               `json:"attempts"`
	Tries    int               `json:"tries"`
	Errors   []failureRow      `json:"errors"`
	Reason   string            `json:"reason"`
	ParkedAt time.Time         `json:"parked_at"`
	Headers  map[string]string `json:"headers,omitempty"`
	Payload  *payloadView      `json:"payload,omitempty"`
}

func inboxMessageOf(m inboxadmin.ParkedMessage) inboxMessageRow {
	return inboxMessageRow{
		No: m.No, Consumer: m.Consumer, State: string(m.State), ID: m.ID, Topic: m.Topic, Key: m.Key, Bytes: m.PayloadBytes,
		Attempts: m.History.Attempts, Tries: m.Tries, Errors: attemptErrors(m.History), Reason: m.Reason, ParkedAt: m.ParkedAt,
	}
}

func (c *call) inboxParked() (list[inboxMessageRow], error) {
	q := inboxadmin.ParkedQuery{
		Consumer: c.q.text("consumer"), Topic: c.q.text("topic"), Key: c.q.text("key"), State: inboxadmin.ParkedState(c.q.text("state")),
		After: c.q.number("after"), Limit: c.q.limit(), OmitPayload: true,
	}
	_, in, err := c.inbox()
	if err == nil {
		err = c.q.done()
	}
	if err != nil {
		return list[inboxMessageRow]{}, err
	}
	return paging[inboxadmin.ParkedMessage, inboxMessageRow, int64]{
		limit: q.Limit, after: q.After, text: decimal, convert: inboxMessageOf,
		ask: func(after int64, n int) ([]inboxadmin.ParkedMessage, error) {
			q.After, q.Limit = after, n
			return in.Parked(c.ctx(), q)
		},
		cursor: func(m inboxadmin.ParkedMessage) int64 { return m.No },
	}.list(c)
}

// inboxMessage answers with one parked message, by its number.
func (c *call) inboxMessage() (inboxMessageRow, error) {
	m, name, err := c.inboxRecord()
	if err != nil {
		return inboxMessageRow{}, err
	}
	row := inboxMessageOf(m)
	if !c.who.Has(RolePayload) || m.Message == nil {
		return row, nil
	}
	if err := c.viewed(View{Inbox: name, Topic: m.Topic, ID: m.ID}); err != nil {
		return inboxMessageRow{}, err
	}
	row.Headers = c.d.cfg.Redact.headers(m.Message.Metadata)
	row.Payload = c.d.view(m.Topic, received(m.Message), m.Message.Payload)
	return row, nil
}

// received returns the headers of a message for a decoder: its metadata, with its id.
func received(msg *message.Message) map[string]string {
	if msg.UUID == "" {
		return msg.Metadata
	}
	headers := make(map[string]string, len(msg.Metadata)+1)
	maps.Copy(headers, msg.Metadata)
	headers[outbox.HeaderEventID] = msg.UUID
	return headers
}

// inboxPayload downloads the payload of a parked message.
func (c *call) inboxPayload() error {
	m, name, err := c.inboxRecord()
	if err == nil {
		err = c.viewed(View{Inbox: name, Topic: m.Topic, ID: m.ID, Download: true})
	}
	if err != nil {
		return err
	}
	return c.download("parked-"+strconv.FormatInt(m.No, 10), m.Topic, received(m.Message), m.Message.Payload)
}

func (c *call) inboxRecord() (inboxadmin.ParkedMessage, string, error) {
	var none inboxadmin.ParkedMessage
	name, in, err := c.inbox()
	no, bad := strconv.ParseInt(c.r.PathValue("no"), 10, 64)
	if bad != nil || no < 1 {
		return none, name, wrong("no", c.r.PathValue("no"), "must be the number of a parked message")
	}
	if err == nil {
		err = c.q.done()
	}
	if err != nil {
		return none, name, err
	}
	parked, err := in.Parked(c.ctx(), inboxadmin.ParkedQuery{After: no - 1, Limit: 1})
	if err != nil {
		return none, name, err
	}
	if len(parked) == 0 || parked[0].No != no || parked[0].Message == nil {
		return none, name, errNothing
	}
	return parked[0], name, nil
}

// attemptRow is a message that is being tried.
type attemptRow struct {
	ID       string       `json:"id"`
	Attempts int          `json:"attempts"`
	First    time.Time    `json:"first,omitzero"`
	Last     time.Time    `json:"last,omitzero"`
	Errors   []failureRow `json:"errors"`
}

func (c *call) inboxAttempts() (list[attemptRow], error) {
	q := inboxadmin.AttemptsQuery{Consumer: c.q.text("consumer"), All: c.q.flag("all"), After: c.q.text("after"), Limit: c.q.limit()}
	_, in, err := c.inbox()
	if err == nil {
		err = c.q.done()
	}
	if err != nil {
		return list[attemptRow]{}, err
	}
	return paging[inboxadmin.Attempts, attemptRow, string]{
		limit: q.Limit, after: q.After, text: asIs,
		ask: func(after string, n int) ([]inboxadmin.Attempts, error) {
			q.After, q.Limit = after, n
			return in.Attempts(c.ctx(), q)
		},
		convert: func(a inboxadmin.Attempts) attemptRow {
			return attemptRow{a.ID, a.Attempts, a.First, a.Last, attemptErrors(a.History)}
		},
		cursor: func(a inboxadmin.Attempts) string { return a.ID },
	}.list(c)
}

// partitionRow is a consumer's position in a partition.
type partitionRow struct {
	Topic     string `json:"topic"`
	Source    string `json:"source"`
	Partition int32  `json:"partition"`
	Next      int64  `json:"next"`
	Current   bool   `json:"current"`
}

// watermarks answers with the positions of a consumer, or an empty list for an inbox that keeps
// none.
func (c *call) watermarks() (list[partitionRow], error) {
	none := list[partitionRow]{Items: []partitionRow{}}
	q := inboxadmin.PartitionsQuery{Consumer: c.q.text("consumer")}
	_, in, err := c.inbox()
	if err == nil {
		err = c.q.done()
	}
	if err != nil {
		return none, err
	}
	marks, ok := in.(inboxadmin.Watermarks)
	if !ok {
		return none, nil
	}
	partitions, err := marks.Partitions(c.ctx(), q)
	if errors.Is(err, inboxadmin.ErrUnknownConsumer) {
		return none, err
	}
	return listOf(c, partitions, len(partitions)+1, func(p inboxadmin.PartitionState) partitionRow {
		return partitionRow{p.Topic, p.Source, p.Partition, p.Next, p.Current}
	}, nil), err
}
