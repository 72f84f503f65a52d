# SPDX-License-Identifier: Apache-2.0
"""OpenMM writes C++ for the forces of a system and compiles it by NVRTC; Fourier transforms are cuFFT's. A box of polar molecules and a
chain in implicit solvent, beside OpenMM's reference platform."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# The platforms choose Ewald's mesh alike and compute in f64, sums of forces in fixed point of 2^-32.
BOUNDS = {"box_forces": 1e-5, "box_energy": 1e-5, "chain_forces": 1e-5, "chain_energy": 1e-6, "positions": 1e-5, "velocities": 1e-4, "minimum": 1e-3, "own_forces": 1e-6,
          "own_steps": 1e-6}


def box(openmm, unit):
    """64 molecules of two charged atoms."""
    system, places = openmm.System(), []
    system.setDefaultPeriodicBoxVectors(*[openmm.Vec3(*(2.0 * (i == j) for j in range(3))) for i in range(3)])
    near = openmm.NonbondedForce()
    near.setNonbondedMethod(openmm.NonbondedForce.PME)
    near.setCutoffDistance(0.8)
    near.setPMEParameters(3.5, 20, 20, 20)
    bonds = openmm.HarmonicBondForce()
    draw = numpy.random.default_rng(43)
    for i in range(64):
        corner = numpy.array([i % 4, i // 4 % 4, i // 16]) * 0.5 + 0.1 + draw.random(3) * 0.05
        for charge, move in ((0.4, 0.0), (-0.4, 0.12)):
            system.addParticle(12.0)
            near.addParticle(charge, 0.25, 0.3)
            places.append(corner + [move, 0, 0])
        bonds.addBond(2 * i, 2 * i + 1, 0.11, 20000.0)
        near.addException(2 * i, 2 * i + 1, 0, 1, 0)
        if i % 2:
            system.addConstraint(2 * i, 2 * i + 1, 0.11)
    system.addForce(near)
    system.addForce(bonds)
    return system, places


def chain(openmm, unit):
    """40 atoms with bonds, angles, torsions, generalised Born solvent and a force of its own formula."""
    system, places = openmm.System(), []
    bonds, angles, torsions, near = openmm.HarmonicBondForce(), openmm.HarmonicAngleForce(), openmm.PeriodicTorsionForce(), openmm.NonbondedForce()
    solvent, own = openmm.GBSAOBCForce(), openmm.CustomNonbondedForce("a*exp(-r*b)*cos(c1-c2)+step(r-0.5)*d*erfc(r); a=2; b=3; d=0.7")
    own.addPerParticleParameter("c")
    own.setForceGroup(1)
    draw = numpy.random.default_rng(47)
    for i in range(40):
        system.addParticle(10.0 + i % 3)
        near.addParticle((-1) ** i * 0.3, 0.3, 0.4)
        solvent.addParticle((-1) ** i * 0.3, 0.15 + 0.01 * (i % 4), 0.8)
        own.addParticle([0.1 * i])
        places.append(numpy.array([0.12 * i, 0.05 * (i % 2), 0.03 * (i % 3)]) + draw.random(3) * 0.02)
        if i > 0:
            bonds.addBond(i - 1, i, 0.14, 9000.0)
            near.addException(i - 1, i, 0, 1, 0)
            own.addExclusion(i - 1, i)
        if i > 1:
            angles.addAngle(i - 2, i - 1, i, 1.9, 300.0)
        if i > 2:
            torsions.addTorsion(i - 3, i - 2, i - 1, i, 1 + i % 3, 0.5, 4.0)
    for force in (bonds, angles, torsions, near, solvent, own):
        system.addForce(force)
    return system, places


def run(backend, folder):
    import openmm
    from openmm import unit

    name = "CUDA" if backend == "cuda" else "Reference"
    platform = openmm.Platform.getPlatformByName(name)
    properties = {"Precision": "double", "DeterministicForces": "true", "TempDirectory": str(folder)} if backend == "cuda" else {}
    out = {}

    def context(system, places, integrator):
        made = openmm.Context(system, integrator, platform, properties)
        made.setPositions(places)
        return made

    def state(made, groups=-1):
        found = made.getState(getForces=True, getEnergy=True, getPositions=True, getVelocities=True, groups=groups)
        return {"forces": found.getForces(asNumpy=True)._value, "energy": numpy.array([found.getPotentialEnergy()._value]),
                "positions": found.getPositions(asNumpy=True)._value, "velocities": found.getVelocities(asNumpy=True)._value}

    system, places = box(openmm, unit)
    made = context(system, places, openmm.VerletIntegrator(0.0005))
    made.applyConstraints(1e-8)
    first = state(made)
    out["box_forces"], out["box_energy"] = first["forces"], first["energy"]
    made.getIntegrator().setConstraintTolerance(1e-8)
    made.getIntegrator().step(20)
    last = state(made)
    out["positions"], out["velocities"] = last["positions"], last["velocities"]

    system, places = chain(openmm, unit)
    made = context(system, places, openmm.VerletIntegrator(0.0005))
    first = state(made)
    out["chain_forces"], out["chain_energy"] = first["forces"], first["energy"]
    out["own_forces"] = state(made, groups={1})["forces"]
    openmm.LocalEnergyMinimizer.minimize(made, 0.1, 0)
    out["minimum"] = state(made)["energy"]
    made.setPositions(places)
    custom = openmm.CustomIntegrator(0.001)
    custom.addGlobalVariable("total", 0)
    custom.addPerDofVariable("kept", 0)
    custom.addComputePerDof("kept", "x + dt*dt*f/m")
    custom.addComputeSum("total", "kept*kept*m")
    custom.addComputePerDof("x", "kept")
    other = context(system, places, custom)
    custom.step(3)
    out["own_steps"] = numpy.array([custom.getGlobalVariable(0)])
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
