package relays

// rules are the protocol; each field leaves one of them out.
type rules struct {
	passUnacked bool // the position passes records once they are sent
	noFence     bool // what a term sets aside is stored whatever its epoch
	blindWrite  bool // and the position is written without a look at the stored one
	goesOn      bool // the channel goes on behind a record that was refused
	passBy      bool // a key goes on past a record that is to be tried later
	parkAlone   bool // a key goes on past a record that is parked
	forgetHeld  bool // a term begins without looking which keys are held
	claimRows   bool // terms work side by side and claim single records (SKIP LOCKED)
}

// bounds are what a search tries.
type bounds struct {
	terms, people uint8
	poison        []set
}

// protocol is what the steps depend on.
type protocol struct {
	rules
	bounds
}

// blocks returns the records that must wait since an earlier one of their key was set
// aside: before this term, or by it a moment ago.
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
