SELECT instance::text FROM @{_meta}
