"""Help texts with many options: in groups, the most used first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click


class GroupedCommand(click.Command):
    """Shows its options under titles; those that no group names come last."""

    groups: Mapping[str, Sequence[str]] = {}
    """Title: names of the parameters below it, in this order."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        options = [parameter for parameter in self.get_params(ctx) if isinstance(parameter, click.Option)]
        shown = {option.name: option.get_help_record(ctx) for option in options}
        named = {name for names in self.groups.values() for name in names}
        rest = [name for name, record in shown.items() if name not in named and record is not None]
        for title, names in {**self.groups, "Other options": rest}.items():
            records = [record for name in names if (record := shown.get(name)) is not None]
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
