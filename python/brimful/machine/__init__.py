"""How quiet this machine was while frames were sent from it: `figures` is pure, `watch` reads kernel and clock."""
