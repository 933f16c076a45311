package slots

// rules are the protocol; each field leaves one of them out.
type rules struct {
	noDrain   bool // the switch does not wait until every old slot has reached the marker
	anyMarker bool // a slot takes the marker from any position
	pastIt    bool // a slot goes on from the marker before the switch
	fromNow   bool // new slots begin at the rows that are committed when the switch is made
	inPlace   bool // the number of slots is changed without a marker
	tidyLost  bool // a reader that has lost its lease deletes a position that it considers outdated
}

// bounds are the bounds of a search.
type bounds struct {
	rows     uint8
	from, to uint8 // numbers of slots, before and after the change
	readers  uint8
	changes  uint8
	crashes  bool // readers may crash, besides being slow
}

// protocol is the configuration of the steps.
type protocol struct {
	rules
	bounds
}
