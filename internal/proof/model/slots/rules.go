package slots

// rules are the protocol; each field leaves one of them out.
type rules struct {
	noDrain   bool // the switch does not wait until every old slot has reached the marker
	anyMarker bool // a slot takes the marker from any position
	pastIt    bool // a slot goes on from the marker before the switch
	fromNow   bool // new slots begin at the rows that are committed at that time
	inPlace   bool // the number is changed without a marker
	tidyLost  bool // a reader that has lost a lease removes what it takes for an old position
}

// bounds are the bounds of a search.
type bounds struct {
	rows     uint8
	from, to uint8 // slots
	readers  uint8
	changes  uint8
	crashes  bool // readers may crash, besides being slow
}

// protocol is what the steps depend on.
type protocol struct {
	rules
	bounds
}
