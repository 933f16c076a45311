package watermarks

// rules are the protocol; each field leaves one of them out.
type rules struct {
	equal     bool // the claim requires exactly the remembered offset
	noPrev    bool // the claim does not check the message delivered before
	noMark    bool // the claim does not check whether the offset was passed
	lookFirst bool // the claim reads the mark, and later updates it without checking it again
	ackFirst  bool // the ack comes before the commit
	ackBusy   bool // a message that another session works on is acknowledged
	stays     bool // a session that meets a gap stays, and delivers again
	blind     bool // an idle session does not check whether it is ahead
	anySource bool // a recreated topic is taken for its predecessor
}

// protocol is the configuration of the steps.
type protocol struct {
	rules

	remakes, losses uint8
}

// fits reports whether the claim would update the mark.
func (p *protocol) fits(s *state, d delivery) bool {
	off := offset(d.message)
	switch {
	case p.equal:
		return s.mark == off
	case s.mark > off && !p.noMark:
		return false
	default:
		return s.mark >= d.prev || p.noPrev
	}
}
