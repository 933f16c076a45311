package mutants

// registryMutants break rules of the codecs of a schema registry.
func registryMutants() []Mutant {
	const folder = "middleware/content/registry"
	return []Mutant{
		{
			Name: "registry-outage-parks", Breaks: []string{"C8"},
			Change:  "a payload is given up while the schema registry is unavailable",
			File:    folder + "/answer.go",
			Old:     `	return inbox.Outage(fmt.Errorf("%w: %w", ErrUnavailable, err))`,
			New:     `	return inbox.Permanent(fmt.Errorf("%w: %w", ErrUnavailable, err))`,
			Package: folder, Test: "TestC8_OutageParksNothing",
		},
		{
			Name: "registry-waits-each-time", Breaks: []string{"C6"},
			Change:  "each schema waits for a silent registry of its own",
			File:    folder + "/answer.go",
			Old:     `	for _, f := range []*failure{&a.failure, r.down.Load()} {`,
			New:     `	for _, f := range []*failure{&a.failure} {`,
			Package: folder, Test: "TestC6_SilentRegistry",
		},
		{
			Name: "registry-any-protobuf-message", Breaks: []string{"C13"},
			Change:  "another message of the same Protobuf file is read as ours",
			File:    folder + "/protobuf.go",
			Old:     `	if !slices.Equal(index, c.index) {`,
			New:     `	if slices.Equal(index, nil) {`,
			Package: folder, Test: "TestC13_OtherMessages",
		},
		{
			Name: "registry-any-namespace", Breaks: []string{"C11"},
			Change:  "a record of another namespace is read as ours",
			File:    folder + "/avro.go",
			Old:     `	if name, _ := recordName(theirs); !slices.Contains(c.names, name) {`,
			New:     `	if name, _ := recordName(theirs); name != "" && slices.Contains(c.names, "") {`,
			Package: folder, Test: "TestC11_Writers",
		},
		{
			Name: "registry-left-over-bytes", Breaks: []string{"C11"},
			Change:  "bytes that follow an Avro value are dropped",
			File:    folder + "/avro.go",
			Old:     `	if err == nil && len(rest) > 0 {`,
			New:     `	if err == nil && rest == nil {`,
			Package: folder, Test: "TestC11_Writers",
		},
		{
			Name: "registry-lost-fields", Breaks: []string{"C10"},
			Change:  "fields that the Avro schema lacks are dropped by the encoder",
			File:    folder + "/avro.go",
			Old:     `		delete(fields, field)`,
			New:     `		clear(fields)`,
			Package: folder, Test: "TestC10_FieldsOfBoth",
		},
		{
			Name: "registry-not-normalized", Breaks: []string{"C7"},
			Change:  "a schema with one more space is another schema",
			File:    folder + "/registry.go",
			Old:     `	ctx = sr.WithParams(ctx, sr.Normalize)`,
			New:     `	ctx = sr.WithParams(ctx)`,
			Package: folder, Test: "TestC7_Normalized",
		},
		{
			Name: "payload-keys-lead-out", Breaks: []string{"C5"},
			Change:  "the name of a key, which a message carries, leads to any file",
			File:    "cmd/leat/internal/payload/keys.go",
			Old:     `	file, err := os.OpenInRoot(string(k), name)`,
			New:     `	file, err := os.Open(string(k) + "/" + name)`,
			Package: "cmd/leat/internal/payload", Test: "TestC5_KeysSayWhy",
		},
	}
}
