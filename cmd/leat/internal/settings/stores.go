package settings

import "slices"

// OutboxNames are the names of the daemon's outboxes, in the order of the file.
func (f *File) OutboxNames(profile string) (names []string) {
	for _, o := range f.outboxes(profile) {
		if o.Name.Set() {
			names = append(names, o.Name.Value)
		}
	}
	return names
}

func (f *File) outboxes(profile string) []Outbox {
	return f.Profiles[profile].Daemon.Or(f.Daemon).Outboxes
}

// HasTable reports whether one of the daemon's outboxes has a log called table.
func (f *File) HasTable(profile, table string) bool {
	return slices.ContainsFunc(f.outboxes(profile), func(o Outbox) bool { return o.Table.Value == table })
}

// OutboxOf returns the daemon's outbox called name. References are only filled in where they describe its
// place, so that a command that reads it needs no secret of a destination.
func (f *File) OutboxOf(profile, name string, lookup func(string) (string, bool)) (o Outbox, err error) {
	all := f.outboxes(profile)
	i := slices.IndexFunc(all, func(o Outbox) bool { return o.Name.Value == name })
	if i < 0 {
		return o, &InvalidError{Path: f.path, Findings: []Finding{{Text: "has no outbox " + name}}}
	}
	o = all[i]
	var findings []Finding
	for _, t := range []*Text{&o.Database, &o.Schema, &o.Table, &o.Forwarder} {
		findings = append(findings, f.resolve(t, t.name, lookup)...)
	}
	if len(findings) > 0 {
		return o, &InvalidError{Path: f.path, Findings: findings}
	}
	return o, nil
}

// RelaysOf returns the relays of the daemon's outbox called name, with references filled in. findings
// lists, for each relay, the references that could not be filled in.
func (f *File) RelaysOf(profile, name string, lookup func(string) (string, bool)) (all []Relay, findings [][]Finding) {
	for _, o := range f.outboxes(profile) {
		if o.Name.Value != name {
			continue
		}
		for _, r := range o.Relays {
			one := Daemon{Outboxes: []Outbox{{Relays: []Relay{r}}}}
			var wrong []Finding
			eachText(&one, func(t *Text) { wrong = append(wrong, f.resolve(t, t.name, lookup)...) })
			all, findings = append(all, one.Outboxes[0].Relays[0]), append(findings, wrong)
		}
	}
	return all, findings
}

// InboxesOf returns the daemon's inboxes, in the same way as OutboxOf.
func (f *File) InboxesOf(profile string, lookup func(string) (string, bool)) (all []InboxTables, err error) {
	var findings []Finding
	for _, in := range f.Profiles[profile].Daemon.Or(f.Daemon).Inboxes {
		for _, t := range []*Text{&in.Database, &in.Schema, &in.Table} {
			findings = append(findings, f.resolve(t, t.name, lookup)...)
		}
		all = append(all, in)
	}
	if len(findings) > 0 {
		return nil, &InvalidError{Path: f.path, Findings: findings}
	}
	return all, nil
}

// Of returns s with the place of the outbox o.
func (s Settings) Of(o Outbox) Settings {
	s = s.in(o.Database, o.Schema)
	if o.Table.Set() {
		s.Outbox = o.Table
	}
	if s.Forwarder = o.Forwarder; o.Forwarder.Set() && !o.Schema.Set() {
		s.Schema = Text{} // the forwarder's tables have their own default
		s = s.Or(Defaults(s.Database.Value))
	}
	return s
}

// OfInbox returns s with the place of the inbox in.
func (s Settings) OfInbox(in InboxTables) Settings {
	s = s.in(in.Database, in.Schema)
	if in.Table.Set() {
		s.Inbox = in.Table
	}
	return s
}

// in returns s with another database and schema, if they are set.
func (s Settings) in(database, schema Text) Settings {
	if database.Set() {
		s = s.At(database.Value)
		s.Database = database
	}
	if schema.Set() {
		s.Schema = schema
	}
	return s
}
