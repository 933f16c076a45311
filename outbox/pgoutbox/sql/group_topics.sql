-- Notes what group $1 reads, for people and for the views.
UPDATE @{_groups} SET topics = $2::text[] WHERE relay_group = $1
