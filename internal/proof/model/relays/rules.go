package relays

// rules are the protocol; each field leaves one of them out.
type rules struct {
	passUnacked bool // the position passes records as soon as they are sent
	noFence     bool // a term's held records are stored whatever its epoch
	blindWrite  bool // the position is written without a check of the stored one
	goesOn      bool // the channel goes on after a refused record
	passBy      bool // a key goes on past a record that will be retried
	parkAlone   bool // a key goes on past a parked record
	forgetHeld  bool // a term begins without reading the held keys
	claimRows   bool // terms work side by side and claim single records (SKIP LOCKED)
}

// bounds are the bounds of a search.
type bounds struct {
	terms, people uint8
	poison        []set
}

// protocol is the configuration of the steps.
type protocol struct {
	rules
	bounds
}

// blocks returns the records that must wait because an earlier one of their key was set aside, before this
// term or in it.
func (p *protocol) blocks(t *term) set {
	aside := family(t.retry | t.wait | t.park)
	switch {
	case p.passBy:
		return 0
	case p.parkAlone:
		return family(t.retry | t.wait)
	default:
		return t.held | aside
	}
}
