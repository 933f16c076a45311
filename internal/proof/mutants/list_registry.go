package mutants

// registryMutants break rules of the codecs of a schema registry.
func registryMutants() []Mutant {
	const folder = "middleware/content/registry"
	return []Mutant{
		{
			Name: "registry-outage-parks", Breaks: []string{"O8"},
			Change:  "a payload is given up while the schema registry is unavailable",
			File:    folder + "/answer.go",
			Old:     `	return inbox.Outage(fmt.Errorf("%w: %w", ErrUnavailable, err))`,
			New:     `	return inbox.Permanent(fmt.Errorf("%w: %w", ErrUnavailable, err))`,
			Package: folder, Test: "TestOutageParksNothing",
		},
		{
			Name: "registry-waits-each-time", Breaks: []string{"O7"},
			Change:  "each schema waits for a silent registry of its own",
			File:    folder + "/answer.go",
			Old:     `	for _, f := range []*failure{&a.failure, r.down.Load()} {`,
			New:     `	for _, f := range []*failure{&a.failure} {`,
			Package: folder, Test: "TestSilent",
		},
		{
			Name: "registry-any-protobuf-message", Breaks: []string{"I10"},
			Change:  "another message of the same Protobuf file is read as ours",
			File:    folder + "/protobuf.go",
			Old:     `	if !slices.Equal(index, c.index) {`,
			New:     `	if slices.Equal(index, nil) {`,
			Package: folder, Test: "TestProto_OtherMessages",
		},
		{
			Name: "registry-any-namespace", Breaks: []string{"I10"},
			Change:  "a record of another namespace is read as ours",
			File:    folder + "/avro.go",
			Old:     `	if name, _ := recordName(theirs); !slices.Contains(c.names, name) {`,
			New:     `	if name, _ := recordName(theirs); name != "" && slices.Contains(c.names, "") {`,
			Package: folder, Test: "TestAvro_Writers",
		},
		{
			Name: "registry-left-over-bytes", Breaks: []string{"I10"},
			Change:  "bytes that follow an Avro value are dropped",
			File:    folder + "/avro.go",
			Old:     `	if err == nil && len(rest) > 0 {`,
			New:     `	if err == nil && rest == nil {`,
			Package: folder, Test: "TestAvro_Writers",
		},
		{
			Name: "registry-lost-fields", Breaks: []string{"O4"},
			Change:  "fields that the Avro schema lacks are dropped by the encoder",
			File:    folder + "/avro.go",
			Old:     `		delete(fields, field)`,
			New:     `		clear(fields)`,
			Package: folder, Test: "TestAvro_FieldsOfBoth",
		},
	}
}
