package diagnose

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/admin"
)

// id returns for each group why it has not sent the messages with an id, or what happened to them.
func (l *look) id(id string, since command.Moment) ([]answerRow, error) {
	manager, ok := l.store.(admin.Manager)
	if !ok {
		return nil, nil
	}
	query := admin.TraceQuery{ID: id}
	traced, err := manager.Trace(l.d.Context, query)
	if errors.Is(err, admin.ErrInvalidRequest) { // the id has no time in it
		query.Since = since.Time
		traced, err = manager.Trace(l.d.Context, query)
	}
	if err != nil {
		return nil, err
	}
	return l.traced(id, traced), nil
}

// traced returns the answers that a trace contains.
func (l *look) traced(id string, t admin.Trace) (all []answerRow) {
	for _, m := range t.Delayed {
		all = append(all, answerRow{
			About: id, State: "delayed", rank: slowly, Text: "not sent: it is due " + l.d.Time(m.NotBefore), Do: "leat delayed cancel " + id + " takes it back",
		})
	}
	told := map[string]bool{}
	for i := range t.Messages {
		m := &t.Messages[i]
		for _, g := range m.Groups {
			told[g.Group] = true
			all = append(all, l.fate(id, m, g, &t)...)
		}
	}
	for _, h := range slices.Concat(t.Held, t.Dead) { // of messages that the log has deleted
		if !told[h.Group] {
			all = append(all, l.held(id, h))
		}
	}
	if len(all) == 0 && len(t.Audit) > 0 {
		last := t.Audit[len(t.Audit)-1]
		all = append(all, answerRow{
			About: id, Group: last.Group, State: last.Action, rank: isWell,
			Text: fmt.Sprintf("%s %s by %s: %s", last.Action, l.d.Time(last.At), show.Cell(last.Actor), cmp.Or(last.Reason, "no reason is known")),
		})
	}
	return all
}

// fate returns how far a group has come with a message, and why not further.
func (l *look) fate(id string, m *admin.TracedMessage, g admin.GroupTrace, t *admin.Trace) []answerRow {
	row := answerRow{About: id, Group: g.Group, State: string(g.State), rank: isWell}
	switch g.State {
	case admin.TracePending:
		return l.pending(row, m)
	case admin.TraceHeld, admin.TraceDead:
		for _, h := range slices.Concat(t.Held, t.Dead) {
			if h.Group == g.Group && h.Seq == m.Seq {
				return []answerRow{l.held(id, h)}
			}
		}
		row.Text = "not sent: set aside"
	case admin.TraceSent:
		row.Text = "sent: the destination has acknowledged it"
	case admin.TraceUnknown:
		row.Text = "nobody knows whether it was sent: the group began behind it"
	case admin.TraceDropped:
		row.Text, row.Do = "never sent: an operator or a policy has dropped it", "leat trace "+id+" says who and why"
	case admin.TraceFiltered:
		row.Text = "never sent: the group does not read topic " + m.Topic
	default:
		row.Text = string(g.State)
	}
	return []answerRow{row}
}

// pending returns why a group has not reached a message yet.
func (l *look) pending(row answerRow, m *admin.TracedMessage) []answerRow {
	for _, g := range l.stats.Groups {
		if g.Name != row.Group {
			continue
		}
		reasons := l.reasons(g, m.Topic)
		for i := range reasons {
			reasons[i].About = row.About
		}
		if len(reasons) > 0 {
			return reasons
		}
		n, _ := waits(g)
		row.Text, row.Waiting = fmt.Sprintf("not sent yet: its turn comes; %s in all", waitFor(n)), n
	}
	row.rank = slowly
	row.Text = cmp.Or(row.Text, "not sent yet: the group has not begun")
	return []answerRow{row}
}

// held returns why a record was set aside.
func (l *look) held(about string, h admin.HeldRecord) answerRow {
	row := command.NewHeldRow(h)
	a := answerRow{About: about, Group: h.Group, State: row.State, Waiting: 1}
	since := l.d.Time(h.Since)
	switch {
	case h.State == "":
		a.rank, a.Text = isWell, "never sent: given up "+since+": "+row.Why()
		a.Do = "leat dead redrive --id " + h.ID + " --group " + h.Group + " --reason … tries it again"
	case h.Waits:
		a.rank, a.Text = operatorNeeded, "not sent: it waits since "+since+" behind an earlier record of its key"
		if head, ok := l.head(h); ok {
			its := l.held(about, head)
			a.rank, a.Do = its.rank, its.Do
			a.Text += ": " + head.ID + ": " + its.Text
		}
	case h.State == admin.HeldParked:
		a.rank, a.Text = operatorNeeded, fmt.Sprintf("not sent: parked %s after %s: %s", since, show.Things(int64(h.Attempts), "attempt"), row.Why())
		a.Do = "see to the cause, then leat parked redrive --id " + h.ID + " --group " + h.Group + " --reason …"
	default:
		a.rank, a.Text = destinationOut, "not sent: it is tried again, set aside "+since+": "+row.Why()
		for _, g := range l.stats.Groups {
			if reasons := l.reasons(g, h.Topic); g.Name == h.Group && len(reasons) > 0 {
				a.Text, a.Do, a.Waiting = reasons[0].Text, reasons[0].Do, reasons[0].Waiting
			}
		}
	}
	return a
}

// head returns the record that the others of its key wait for.
func (l *look) head(of admin.HeldRecord) (admin.HeldRecord, bool) {
	held, err := l.store.Held(l.d.Context, admin.HeldQuery{Group: of.Group, Topic: of.Topic, Key: of.Key, Limit: 1, OmitPayload: true})
	if err != nil || len(held) == 0 || held[0].Waits || held[0].Topic != of.Topic {
		return admin.HeldRecord{}, false
	}
	return held[0], true
}

// key returns for each group what is set aside of a key, or the state of the key's newest message if
// nothing is.
func (l *look) key(key string, since command.Moment) (all []answerRow, err error) {
	for _, g := range l.stats.Groups {
		held, err := l.store.Held(l.d.Context, admin.HeldQuery{Group: g.Name, Key: key, Limit: 1000, OmitPayload: true})
		if err != nil {
			return nil, err
		}
		dead, err := l.store.Dead(l.d.Context, admin.HeldQuery{Group: g.Name, Key: key, Limit: 1000, OmitPayload: true})
		if err != nil {
			return nil, err
		}
		all = append(all, l.first(key, held)...)
		all = append(all, l.first(key, dead)...)
	}
	manager, ok := l.store.(admin.Manager)
	if len(all) > 0 || !ok {
		return all, nil
	}
	page, err := manager.Search(l.d.Context, admin.MessageQuery{Key: key, From: since.Time, Newest: true, Limit: 1, OmitPayload: true})
	if err != nil || len(page.Records) == 0 {
		return nil, err
	}
	newest := page.Records[0]
	answers, err := l.id(newest.ID, command.Moment{Time: newest.CreatedAt})
	for i := range answers {
		answers[i].About = key
		answers[i].Text = "its newest message " + newest.ID + ": " + answers[i].Text
	}
	return answers, err
}

// first returns why the first record of each topic was set aside, and how many follow it.
func (l *look) first(key string, records []admin.HeldRecord) (all []answerRow) {
	count := map[string]int64{}
	for _, r := range records {
		count[r.Topic]++
	}
	for _, r := range records {
		if n := count[r.Topic]; n > 0 {
			a := l.held(key, r)
			a.Text = "topic " + r.Topic + ", message " + r.ID + ": " + a.Text
			if n > 1 {
				a.Text += fmt.Sprintf("; %s more of the key after it", show.Count(n-1))
			}
			all = append(all, a)
			count[r.Topic] = 0
		}
	}
	return all
}

// topic returns for each group why it does not send the messages of a topic.
func (l *look) topic(topic string) (all []answerRow, err error) {
	seen := false
	for _, g := range l.stats.Groups {
		if patterns := l.group(g.Name).Topics; len(patterns) > 0 && !topics.MatchAny(patterns, topic) {
			all = append(all, answerRow{Group: g.Name, About: topic, State: "filtered", rank: isWell, Text: "the group does not read the topic"})
			continue
		}
		reasons := l.reasons(g, topic)
		seen = seen || len(command.OutagesOf(g, topic)) > 0
		held, err := l.store.Held(l.d.Context, admin.HeldQuery{Group: g.Name, Topic: topic, State: admin.HeldParked, Limit: 1000, OmitPayload: true})
		if err != nil {
			return nil, err
		}
		if n := len(held); n > 0 {
			seen = true
			reasons = append(reasons, answerRow{
				Group: g.Name, State: "parked", rank: operatorNeeded, Waiting: int64(n), Text: "not sent: " + show.Things(int64(n), "record") + " parked or behind one that is; " + l.parkedFor(g.Name, topic),
				Do: "see to the cause, then leat parked redrive --topic " + topic + " --group " + g.Name + " --canary 1 --reason …",
			})
		}
		if len(reasons) == 0 {
			reasons = []answerRow{{Group: g.Name, State: "sent", rank: isWell, Text: "nothing keeps the topic from being sent"}}
		}
		for i := range reasons {
			reasons[i].About = topic
		}
		all = append(all, reasons...)
	}
	if seen || len(all) == 0 {
		return all, nil
	}
	if seen, err = l.knows(topic); !seen {
		return nil, err
	}
	return all, nil
}

// knows reports whether the newest messages of the log include one of the topic.
func (l *look) knows(topic string) (bool, error) {
	manager, ok := l.store.(admin.Manager)
	if !ok {
		return false, nil
	}
	page, err := manager.Search(l.d.Context, admin.MessageQuery{Topic: topic, Newest: true, Limit: 1, OmitPayload: true})
	return len(page.Records) > 0, err
}
