package slots

// rules are the protocol; each field leaves one of them out.
type rules struct {
	noDrain   bool // the switch does not wait until every old slot has come to the marker
	anyMarker bool // a slot takes the marker from wherever it stands
	pastIt    bool // a slot goes on from the marker before the switch
	fromNow   bool // new slots begin at the rows that are committed by then
	inPlace   bool // the number is changed without a marker
	tidyLost  bool // who has lost a lease removes what it takes for an old position
}

// bounds are what a search tries.
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
