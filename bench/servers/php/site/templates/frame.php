<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title><?= $e($title) ?> – The Acre</title></head>
<body>
<nav><?php foreach (['News' => '/', 'Search' => '/search/mor%20en', 'Basket' => '/basket/1x2'] as $name => $address): ?>
<a href="<?= $e($address) ?>"><?= $e($name) ?></a>
<?php endforeach ?></nav>
<h1><?= $e($title) ?></h1>
<?= $content ?>
<footer>Everything here is made up.</footer>
</body>
</html>
