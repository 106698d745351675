"""Since when is it slower: a store of histories, levels with dated changes, and what is to be done about them."""
