package history

// add puts a line into the index, or returns why it cannot.
func (x *index) add(at place, l *Line) error {
	if l == nil {
		return x.endFile(at)
	}
	switch l.Type {
	case Start:
		return nil
	case Fault:
		if l.Point == "" || l.Kind == "" {
			return unusable(at, "a fault needs point and kind")
		}
		x.faults = append(x.faults, *l)
		return nil
	case Rewound:
		return x.rewind(at, l)
	case DumpEnd:
		return x.endDump(at, l)
	case Balance:
		x.open[Balance]++
		book, err := x.book(at, l.Consumer)
		x.balances = append(x.balances, balance{l.Opening, l.Amount, book, x.keys.number(l.Key)})
		return err
	default:
		if l.ID == "" {
			return unusable(at, "a line %q needs an id", l.Type)
		}
		return x.addEvent(at, l, x.event(l.ID))
	}
}

// addEvent indexes a line about the event with the number i.
func (x *index) addEvent(at place, l *Line, i uint32) error {
	e := &x.events[i]
	switch l.Type {
	case Intent:
		x.intend(l, e)
	case Committed, Aborted, Unknown:
		return tell(at, l, e)
	case Sent:
		e.marks |= inRelay
		e.sent = max(e.sent, l.At)
	case Acked:
		e.marks |= inRelay | acked
		e.sent = max(e.sent, l.At)
	case Delivered, Effect:
		return x.consume(at, l, e)
	case Ledger:
		x.open[Ledger]++
		if e.is(inLedger) {
			return unusable(at, "the ledger has two rows of %s", l.ID)
		}
		x.describe(l, e)
		e.marks |= inLedger
	case Outbox:
		x.open[Outbox]++
		e.marks |= inOutbox
	case Waiting:
		x.open[Waiting]++
		return x.wait(at, l, e)
	case Record:
		x.publish(l, i)
	case EffectRow:
		return x.effect(at, l, i)
	default:
		return unusable(at, "no such type of line: %q", l.Type)
	}
	return nil
}

func (x *index) intend(l *Line, e *event) {
	if !e.is(intended) {
		x.intents++
	}
	e.marks |= intended
	e.at = l.At
	if !e.is(inLedger) { // the ledger takes precedence
		x.describe(l, e)
	}
	e.topic, e.digest = x.topics.number(l.Topic), short(l.Digest)
}

func (x *index) describe(l *Line, e *event) {
	e.key, e.to = x.keys.number(l.Key), x.keys.number(l.To)
	e.version, e.amount = l.Version, l.Amount
}

// tell records the outcome that the producer was told.
func tell(at place, l *Line, e *event) error {
	switch l.Type {
	case Committed:
		e.marks |= toldCommitted
	case Aborted:
		e.marks |= toldAborted
	default:
		e.marks |= toldUnknown
	}
	e.toldAt = max(e.toldAt, l.At)
	if e.is(toldCommitted) && e.is(toldAborted) {
		return unusable(at, "%s is both committed and aborted", l.ID)
	}
	return nil
}

// consume records a consumer's line.
func (x *index) consume(at place, l *Line, e *event) error {
	book, err := x.book(at, l.Consumer)
	if err != nil {
		return err
	}
	e.consumedAt = max(e.consumedAt, l.At)
	if l.Type == Effect {
		e.told |= 1 << book
		return nil
	}
	x.figures.Deliveries++
	if e.delivered.has(book) {
		x.figures.Redeliveries++
	}
	e.delivered |= 1 << book
	return nil
}

func (x *index) wait(at place, l *Line, e *event) error {
	switch l.Where {
	case Pending, Parked, Dead:
	default:
		return unusable(at, "a message can't wait in %q", l.Where)
	}
	x.figures.Waiting++
	if l.Consumer == "" {
		e.marks |= waiting
		return nil
	}
	book, err := x.book(at, l.Consumer)
	e.keeps |= 1 << book
	return err
}

func (x *index) publish(l *Line, i uint32) {
	x.open[Record]++
	r := record{
		offset: l.Offset, at: l.At, digest: short(l.Digest), event: i, cause: i,
		topic: x.topics.number(l.Topic), partition: l.Partition, key: x.keys.number(l.Key),
	}
	x.events[i].marks |= published
	if l.Cause != "" {
		x.events[i].marks |= caused
		x.causes = true
		r.cause = x.event(l.Cause)
	}
	x.records = append(x.records, r)
}

func (x *index) effect(at place, l *Line, i uint32) error {
	x.open[EffectRow]++
	book, err := x.book(at, l.Consumer)
	if err != nil {
		return err
	}
	f := effect{
		row: l.Row, version: l.Version, amount: l.Amount, event: i, child: i,
		book: book, key: x.keys.number(l.Key), to: x.keys.number(l.To),
	}
	x.events[i].had |= 1 << book
	if l.Child != "" {
		f.child = x.event(l.Child)
		x.bear(&x.events[f.child], f)
	}
	x.effects = append(x.effects, f)
	return nil
}

// bear records the event that an effect has produced. The order of its key is that of the effects.
func (x *index) bear(c *event, f effect) {
	x.causes = true
	if !c.is(child) || f.row < c.version {
		c.version = f.row
	}
	c.marks |= child
	c.key, c.parent = f.key, f.event
}

// book returns the number of the consumer.
func (x *index) book(at place, consumer string) (uint32, error) {
	n := x.books.number(consumer)
	if n >= maxConsumers {
		return 0, unusable(at, "more than %d consumers", maxConsumers-1)
	}
	return n, nil
}
