package dashboard

import (
	"cmp"
	"net/url"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
)

// causeRow is one cause of failed records of a group, over all topics.
type causeRow struct {
	place
	failuresRow

	Topics []string
}

// Sentence returns a plain description of a kind of failure.
func (r causeRow) Sentence() string { return sentence(r.Kind) }

func sentence(kind string) string {
	switch kind {
	case "permanent":
		return "Refused for good"
	case "outage":
		return "The destination did not answer"
	case "unknown":
		return "All attempts have failed"
	default:
		return "Set aside"
	}
}

// Pattern selects the topics of the row in a filter.
func (r causeRow) Pattern() string {
	if len(r.Topics) == 1 {
		return r.Topics[0]
	}
	return "*"
}

// causesOf merges failures that differ only in their topics.
func causesOf(at place, failures []failuresRow) (all []causeRow) {
	for _, f := range failures {
		i := slices.IndexFunc(all, func(r causeRow) bool { return r.Kind == f.Kind && r.Fingerprint == f.Fingerprint })
		if i < 0 {
			all = append(all, causeRow{at, f, []string{f.Topic}})
			continue
		}
		r := &all[i]
		r.Topics = append(r.Topics, f.Topic)
		r.Records += f.Records
		r.Again += f.Again
		if f.First.Before(r.First) {
			r.First = f.First
		}
		if f.Last.After(r.Last) {
			r.Last = f.Last
		}
	}
	return all
}

// causes returns the causes of all places, those with the most records first.
func (c *call) causes(places []place, filter url.Values) (all []causeRow, err error) {
	room := c.apart()
	for _, at := range places {
		l, err := shared(room, (*call).failures, merged(filter, at.query()))
		if err != nil {
			return nil, err
		}
		all = append(all, causesOf(at, l.Items)...)
	}
	slices.SortStableFunc(all, func(a, b causeRow) int { return cmp.Compare(b.Records, a.Records) })
	return all, nil
}

// placesOf returns the groups of causes.
func placesOf(rows []causeRow) (all []place) {
	for _, row := range rows {
		if !slices.Contains(all, row.place) {
			all = append(all, row.place)
		}
	}
	return all
}

// keysPart holds the parked keys of a group, recordsPart its records.
type keysPart struct {
	place
	Keys list[keyRow]
}

type recordsPart struct {
	place
	Records list[heldRow]
	Out     outRows
}

type parkedData struct {
	Causes []causeRow
	Parts  []keysPart
	// Records are the records of the requested key.
	Records *recordsPart
	// More is set if more groups have parked records than are shown.
	More bool
}

// each returns the limit of rows for each of several groups on a page.
func each(places []place) url.Values {
	if len(places) > 1 {
		return url.Values{"limit": {"10"}}
	}
	return nil
}

// parkedPage shows parked records by cause, by key, and, for a chosen key, each record.
func (c *call) parkedPage() (any, error) {
	topic, after, key := c.pick("topic"), c.pick("after"), c.pick("topic", "key", "state")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	places, more, err := c.places(func(g groupStatus) bool { return g.Parked > 0 })
	if err != nil {
		return nil, err
	}
	data := parkedData{More: more}
	if key.Has("key") || key.Has("state") {
		at := c.scope()
		if at.Group == "" {
			at = first(places)
		}
		records, err := also(c.apart(), (*call).parked, merged(key, at.query()))
		data.Records = &recordsPart{place: at, Records: records}
		return data, err
	}
	if data.Causes, err = c.causes(places, topic); err != nil {
		return nil, err
	}
	room := c.apart()
	for _, at := range places {
		query := merged(merged(topic, at.query()), each(places))
		if len(places) == 1 {
			query = merged(query, after)
		}
		keys, err := shared(room, (*call).parkedKeys, query)
		if err != nil {
			return nil, err
		}
		data.Parts = append(data.Parts, keysPart{at, keys})
	}
	return data, nil
}

type recordsData struct {
	Causes []causeRow
	Parts  []recordsPart
	More   bool
}

// records returns records of each place.
func (c *call) records(places []place, look func(c *call) (list[heldRow], error), query, after url.Values) (all []recordsPart, err error) {
	room := c.apart()
	for _, at := range places {
		q := merged(merged(query, at.query()), each(places))
		if len(places) == 1 {
			q = merged(q, after)
		}
		l, err := shared(room, look, q)
		if err != nil {
			return nil, err
		}
		all = append(all, recordsPart{place: at, Records: l})
	}
	return all, nil
}

// retriedPage shows the destinations that are out, and the retried records.
func (c *call) retriedPage() (any, error) {
	query, after := c.pick("topic", "key"), c.pick("after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	places, more, err := c.places(func(g groupStatus) bool { return g.Retrying > 0 || len(g.Out) > 0 })
	if err != nil {
		return nil, err
	}
	data := recordsData{More: more}
	if data.Parts, err = c.records(places, (*call).parked, merged(query, url.Values{"state": {string(admin.HeldRetrying)}}), after); err != nil {
		return nil, err
	}
	s, err := c.d.sampler.get(c.ctx(), watchedAge)
	if err != nil {
		return nil, err
	}
	for _, g := range c.d.status(s).within(c.scope()) {
		for i := range data.Parts {
			if data.Parts[i].place == g.place {
				here, _ := c.breakers(g.Outbox, g.Group)
				data.Parts[i].Out = outOf(g.Out, here)
			}
		}
	}
	return data, nil
}

func (c *call) deadPage() (any, error) {
	query, more := c.pick("topic"), c.pick("key", "after")
	if err := c.q.done(); err != nil {
		return nil, err
	}
	places, cut, err := c.places(func(g groupStatus) bool { return g.Dead > 0 })
	if err != nil {
		return nil, err
	}
	data := recordsData{More: cut}
	if data.Causes, err = c.causes(places, merged(query, url.Values{"dead": {"true"}})); err != nil {
		return nil, err
	}
	key := url.Values{}
	if more.Has("key") {
		key.Set("key", more.Get("key"))
	}
	more.Del("key")
	data.Parts, err = c.records(places, (*call).dead, merged(query, key), more)
	return data, err
}
