"""The list of mutations: each still fits the code, so that running them says something."""

import mutants

LIST = mutants.mutants()


def test_every_mutation_fits_the_code_and_names_its_tests():
    stale = [mutant.id for mutant in LIST if mutants.is_stale(mutant)]
    assert not stale, f"adapt tools/mutants.toml: {', '.join(stale)} no longer stand exactly once in their files"
    for mutant in LIST:
        files = [word for word in mutant.tests.split() if word.startswith("tests/")]
        assert files, mutant.id
        assert all((mutants.ROOT / file).exists() for file in files), mutant.id
        assert mutant.old != mutant.new, mutant.id


def test_names_of_mutations_are_theirs_alone():
    assert len({mutant.id for mutant in LIST}) == len(LIST)
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in LIST}) == len(LIST)
