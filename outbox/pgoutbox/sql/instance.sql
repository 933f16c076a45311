SELECT instance FROM @{_meta}
