"""Tests of the methods: joint references and the contract suite."""
