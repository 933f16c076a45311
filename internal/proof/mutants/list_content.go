package mutants

// contentMutants break how payloads are encoded and opened.
func contentMutants() []Mutant {
	return []Mutant{
		{
			Name: "content-stays-open", Breaks: []string{"C1"},
			Change:  "a message stays open when its handler has returned",
			File:    "middleware/content/open.go",
			Old:     `back = func() { msg.Payload, msg.Metadata = payload, metadata }`,
			New:     `back = func() { msg.Metadata = metadata; _ = payload }`,
			Package: "middleware/content", Test: "TestC1_ParkedAsItCame/inside",
		},
		{
			Name: "content-index-of-the-open", Breaks: []string{"C3"},
			Change:  "a failure in a batch is that of the message at its place among those that were opened",
			File:    "middleware/content/open.go",
			Old:     `place = places[named.Index]`,
			New:     `place = named.Index`,
			Package: "middleware/content", Test: "TestC3_TheIndexIsTheCallers",
		},
		{
			Name: "content-letter-is-sealed-twice", Breaks: []string{"C4"},
			Change:  "a dead letter is sealed again",
			File:    "middleware/content/content.go",
			Old:     `case letter && (c.cfg.Seal == nil || m.Headers[headerKeyName] != ""):`,
			New:     `case letter && c.cfg.Seal == nil:`,
			Package: "middleware/content", Test: "TestC4_DeadLetters",
		},
		{
			Name: "content-future-is-permanent", Breaks: []string{"C18"},
			Change:  "a version of another release is given up at once",
			File:    "middleware/content/marshaler.go",
			Old:     `return faultf(ErrFutureVersion, "message %.200q of type %s has version %d, and %d is known", msg.UUID, e.name, version, e.version)`,
			New:     `return inbox.Permanent(faultf(ErrFutureVersion, "message %.200q of type %s has version %d, and %d is known", msg.UUID, e.name, version, e.version))`,
			Package: "middleware/content", Test: "TestC18_RollingDeploy",
		},
		{
			Name: "content-seal-without-id", Breaks: []string{"C25"},
			Change:  "a seal is not bound to the id",
			File:    "middleware/content/seal.go",
			Old:     `func associated(fields ...string) []byte {`,
			New:     "func associated(fields ...string) []byte {\n\tfields = fields[1:]",
			Package: "middleware/content", Test: "TestC25_WhatASealIsBoundTo",
		},
		{
			Name: "content-errors-quote", Breaks: []string{"C27"},
			Change:  "what a handler says about a sealed payload is stored",
			File:    "middleware/content/errors.go",
			Old:     `return &withheld{text: "leat: the handler of a sealed message failed: " + types(err), err: err}`,
			New:     `return err`,
			Package: "middleware/content", Test: "TestC27_ErrorsQuoteNothing",
		},
		{
			Name: "content-reference-is-believed", Breaks: []string{"C32"},
			Change:  "a large payload is not compared with its hash",
			File:    "middleware/content/claim.go",
			Old:     `case int64(len(data)) != ref.Bytes || digest(data) != ref.Claim[len(claimDay):]:`,
			New:     `case int64(len(data)) != ref.Bytes:`,
			Package: "middleware/content", Test: "TestC32_BadReferences",
		},
	}
}
