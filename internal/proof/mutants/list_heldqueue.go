package mutants

// heldqueueMutants break the queue of held records in Go, which stores without set-based SQL
// share.
func heldqueueMutants() []Mutant {
	const (
		folder = "outbox/internal/heldqueue"
		order  = "TestO2_O6_NothingPassesAHeldRecord"
	)
	return []Mutant{
		{
			Name: "two-of-a-key-are-retried", Breaks: []string{"O6"},
			Change:  "a record behind the first of its key is retried beside it",
			File:    folder + "/settle.go",
			Old:     `case i > 0 && row.State == Retry:`,
			New:     `case i > 0 && row.State == Dead:`,
			Package: folder, Test: order,
		},
		{
			Name: "the-next-of-a-key-is-stuck", Breaks: []string{"O2"},
			Change:  "nothing wakes a record when the one before it has left",
			File:    folder + "/settle.go",
			Old:     `case i == 0 && row.State == Wait:`,
			New:     `case i == 0 && row.State == Dead:`,
			Package: folder, Test: order,
		},
		{
			Name: "what-is-retried-is-not-changed", Breaks: []string{"O6"},
			Change:  "an operator cannot redrive or drop what is tried again",
			File:    folder + "/pick.go",
			Old:     `heads[key][:min(1, len(heads[key]))], err`,
			New:     `slices.DeleteFunc(heads[key], func(h Row) bool { return h.State == Retry }), err`,
			Package: "outbox/memoutbox", Test: "TestConformance/O6_RetriedIsChanged",
		},
		{
			Name: "a-parked-head-is-passed", Breaks: []string{"O6"},
			Change: "what waits is due past a parked record of its key",
			File:   folder + "/memory_select.go",
			Old:    `			if k.State != Wait || n == limit {`,
			New: `			if k.State == Parked {
				continue
			}
			if k.State != Wait || n == limit {`,
			Package: folder, Test: "TestO6_ParkedBehindAHeldRecord",
		},
		{
			Name: "a-verdict-frees-what-is-parked", Breaks: []string{"O2"},
			Change:  "a late verdict deletes a record that waits for an operator",
			File:    folder + "/resolve.go",
			Old:     `[]State{Retry, Wait}, verdicts`,
			New:     `[]State{Retry, Wait, Parked}, verdicts`,
			Package: folder, Test: "TestO2_VerdictOnAParkedRecord",
		},
		{
			Name: "dead-rows-are-deleted", Breaks: []string{"O2"},
			Change: "a record that is given up leaves no row",
			File:   folder + "/row.go",
			Old: `		r.State, r.Next, r.Attempts, r.Since = Dead, time.Time{}, 0, now
`,
			New: `		return false
`,
			Package: folder, Test: order,
		},
		{
			Name: "a-key-is-dropped-from-its-start", Breaks: []string{"O6"},
			Change:  "a bounded drop begins with the head, so that what is behind it goes out meanwhile",
			File:    folder + "/pick.go",
			Old:     `Limit: sel.Limit, Last: true`,
			New:     `Limit: sel.Limit`,
			Package: folder, Test: "TestO6_AKeyIsDroppedFromItsEnd",
		},
		{
			Name: "a-redrive-keeps-the-attempts", Breaks: []string{"O7"},
			Change:  "a record that was redriven is parked again at its first failure",
			File:    folder + "/row.go",
			Old:     `r.State, r.Next, r.Attempts, r.Reason = Retry, now, 0, ""`,
			New:     `r.State, r.Next, r.Reason = Retry, now, ""`,
			Package: folder, Test: "TestO7_ARedriveBeginsAnew",
		},
		{
			Name: "what-is-dropped-is-not-noted", Breaks: []string{"O2"},
			Change:  "the audit does not say what an operator has dropped",
			File:    folder + "/change.go",
			Old:     `if err := tx.Note(ctx, a.entries(rows)); err != nil {`,
			New:     `if err := tx.Note(ctx, a.entries(rows[:0])); err != nil {`,
			Package: folder, Test: "TestO2_WhatIsDroppedIsNoted",
		},
		{
			Name: "held-twins-page-without-a-bound", Breaks: []string{"N3"},
			Change:  "all held records that are due are returned at once",
			File:    folder + "/due.go",
			Old:     `bytes -= rows[i].Bytes; bytes <= 0`,
			New:     `bytes -= 0; bytes <= 0`,
			Package: folder, Test: "TestO14_DueEndsWithTheRecordThatFillsIt",
		},
		{
			Name: "a-repeated-hold-holds-again", Breaks: []string{"O10"},
			Change:  "a call whose answer was lost changes what is held",
			File:    folder + "/hold.go",
			Old:     `		} else if ok {`,
			New:     `		} else if ok && before.ID == "" {`,
			Package: folder, Test: "TestHold_PassesOverWhatIsThere",
		},
	}
}
