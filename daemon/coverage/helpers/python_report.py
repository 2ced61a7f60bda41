"""Reads what the processes of a Python service wrote (sitecustomize.py beside this file): `python_report.py DIRECTORY
OUTPUT`. Writes, as JSON, the lines of each source file that hold statements, and those that were reached."""
import glob
import json
import os
import sys


def load():
    try:
        import coverage
    except ImportError:
        sys.path.append("/usr/lib/python3/dist-packages")
        import coverage
    return coverage


def main(directory, output):
    coverage = load()
    files, problems = {}, []
    measure = coverage.Coverage(data_file=None, config_file=False, messages=False)
    everything = measure.get_data()
    for path in sorted(glob.glob(os.path.join(glob.escape(directory), "data.*"))):
        try:
            data = coverage.CoverageData(basename=path)
            data.read()
            everything.update(data)
        except Exception as error:
            problems.append(f"a process left data that cannot be read ({error})")
    for path in sorted(everything.measured_files()):
        try:
            _, statements, _, missing, _ = measure.analysis2(path)
        except Exception as error:
            problems.append(f"{path}: {error}")
            continue
        files[path] = {"statements": statements, "reached": sorted(set(statements) - set(missing))}
    for path in sorted(glob.glob(os.path.join(glob.escape(directory), "problem.*"))):
        with open(path, encoding="utf-8") as file:
            problems.append(file.read())
    with open(output, "w", encoding="utf-8") as file:
        json.dump({"files": files, "problems": sorted(set(problems))}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
