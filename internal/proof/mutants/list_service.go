package mutants

// serviceMutants break the parts that package leat runs for a service.
func serviceMutants() []Mutant {
	return []Mutant{
		{
			Name: "service-does-no-upkeep", Breaks: []string{"O2"},
			Change:  "nobody maintains the stores of a service",
			File:    "run.go",
			Old:     `	if s.cfg.NoMaintenance {`,
			New:     `	if s.cfg.Outbox != nil {`,
			Package: ".", Test: "TestService_PostgreSQL/DelayedIsSent",
		},
		{
			Name: "redriven-message-skips-inner-middlewares", Breaks: []string{"I1"},
			Change:  "what was redriven runs without the router's inner middlewares",
			File:    "router.go",
			Old:     `			handle = m(handle)`,
			New:     `			_ = m`,
			Package: ".", Test: "TestService_Memory/RedrivenRuns",
		},
		{
			Name: "router-without-inbox-runs", Breaks: []string{"I1"},
			Change:  "the handlers of a service without an inbox run",
			File:    "run.go",
			Old:     `	if len(routers) > 0 && s.once == nil {`,
			New:     `	if len(routers) > 9 {`,
			Package: ".", Test: "TestRouter_NeedsAnInbox",
		},
		{
			Name: "part-ends-alone", Breaks: []string{"A3"},
			Change:  "a part that fails does not end the service",
			File:    "run.go",
			Old:     `			end()`,
			New:     `			_ = end`,
			Package: ".", Test: "TestService_Memory/PartFails",
		},
	}
}
