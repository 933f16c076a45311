package settings

// Dashboard is what operators see beside the probes. Its words are those of leat dash's flags.
type Dashboard struct {
	At          Place  `yaml:"-"`
	Base        Text   `yaml:"base" doc:"Path under which a proxy serves it, with slashes at both ends. Defaults to /."`
	Hosts       []Text `yaml:"hosts" doc:"Names by which browsers reach it, without a port. Required beyond this machine; defaults to localhost."`
	ReadOnly    Text   `yaml:"read_only" doc:"true: show only, nothing can be changed. Defaults to false."`
	Allow       []Text `yaml:"allow" doc:"Roles of everybody on this machine without a sign-in: viewer, payload, operator, admin. Defaults to all."`
	Basic       Text   `yaml:"basic" doc:"File of people who sign in by password. Lines are NAME:BCRYPT:ROLES."`
	Bearer      Text   `yaml:"bearer" doc:"File of programs that sign in by token. Lines are NAME:SHA256:ROLES."`
	ProxyPeers  []Text `yaml:"proxy_peers" doc:"Proxies that are trusted to name who asks, such as 10.0.0.7 or 10.1.0.0/16."`
	ProxyUser   Text   `yaml:"proxy_user" doc:"Header in which they name the user. Defaults to X-Forwarded-User."`
	ProxyGroup  Text   `yaml:"proxy_group" doc:"Header in which they name the user's groups. Defaults to X-Forwarded-Groups."`
	ProxyRoles  []Text `yaml:"proxy_roles" doc:"What members of a group may do, GROUP=ROLE."`
	HideHeaders []Text `yaml:"hide_headers" doc:"Headers whose values are hidden. Defaults to those that carry secrets."`
	HidePaths   []Text `yaml:"hide_paths" doc:"Members of JSON that are hidden, such as customer.email or **.card."`
	TraceURL    Text   `yaml:"trace_url" doc:"Address of a trace, with {id} for its id: headers traceparent become links."`
	Descriptors Text   `yaml:"descriptors" doc:"Descriptor set of Protobuf, by protoc --include_imports --descriptor_set_out."`
	Protobuf    []Text `yaml:"protobuf" doc:"What payloads in Protobuf are, TOPICS=MESSAGE, such as orders.*=shop.v1.Order."`
}
