"""A contract of import-linter that is an allow-list: all that some packages may import from another."""

import grimp
from importlinter import Contract, ContractCheck, fields, output
from importlinter.domain import helpers


class AllowListContract(Contract):
    """Modules of the importers import nothing from the package but the allowed modules.

    Unlike with import-linter's own "forbidden", a module that is added to the package is forbidden until it is listed.
    Only direct imports are looked at. An importer in exempt may import anything. A module that is listed but that no
    importer imports is an error too, so that the list stays as short as it can be.
    """

    type_name = "allow_list"

    importers = fields.ListField(subfield=fields.ModuleExpressionField())
    package = fields.ModuleField()
    allowed = fields.ListField(subfield=fields.StringField())
    exempt = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """The imports that are not on the list, and the entries of the list that nothing imports."""
        importers = {
            module.name for module in helpers.module_expressions_to_modules(graph, self.importers, as_packages=True)
        } - set(self.exempt or ())
        package = self.package.name
        allowed = {f"{package}.{name}" for name in self.allowed}
        inside = graph.find_descendants(package)
        links = [
            (importer, imported)
            for imported in sorted(inside)
            for importer in sorted(graph.find_modules_that_directly_import(imported) & importers)
        ]
        used = {imported for _, imported in links}
        return ContractCheck(
            kept=used == allowed,
            metadata={
                "links": [(importer, imported) for importer, imported in links if imported not in allowed],
                "unused": sorted(allowed - used),
            },
        )

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print both lists."""
        for importer, imported in check.metadata["links"]:
            output.print_error(f"{importer} imports {imported}, which is not on the list")
        for name in check.metadata["unused"]:
            output.print_error(f"{name} is on the list, and nothing imports it")
